from course_lib.bank.masks.pack_documents import exercise
from course_lib.bank.prelude import Tensor, torch


@exercise.answer
def reference(lengths: Tensor, T: int) -> tuple[Tensor, Tensor]:
    """Numbers the documents by counting how many have ended at each place."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    document = (place[:, None] >= ends[:, None]).sum(-1)
    real = place < ends[:, -1:]
    mask = (document[:, :, None] == document[:, None]) & real[:, None] & (place[:, None] >= place)
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=-1)
    return mask[:, None], (place - starts.gather(-1, document)) * real


@exercise.mistake("Change a word of the first document: which outputs move?")
def causal_is_enough(lengths, T):
    """Documents in one row come one after the other, so the causal mask keeps them apart."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    real = place < ends[:, -1:]
    document = (place[:, None] >= ends[:, None]).sum(-1)
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=-1)
    mask = real[:, None] & real[:, :, None] & (place[:, None] >= place)
    return mask[:, None], (place - starts.gather(-1, document)) * real


@exercise.mistake("May the first word of a document see its last one?")
def documents_without_time(lengths, T):
    """A word may see every word of its own document."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    document = (place[:, None] >= ends[:, None]).sum(-1)
    real = place < ends[:, -1:]
    mask = (document[:, :, None] == document[:, None]) & real[:, None]
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=-1)
    return mask[:, None], (place - starts.gather(-1, document)) * real


@exercise.mistake("Two documents of three words each: what tells them apart in your comparison?")
def known_by_its_length(lengths, T):
    """Two places belong to one document if their documents are equally long."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    document = (place[:, None] >= ends[:, None]).sum(-1)
    real = place < ends[:, -1:]
    size = torch.cat([lengths, torch.zeros_like(ends[:, :1])], dim=-1).gather(-1, document)
    mask = (size[:, :, None] == size[:, None]) & real[:, None] & (place[:, None] >= place)
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=-1)
    return mask[:, None], (place - starts.gather(-1, document)) * real


@exercise.mistake("At which position would the first word of the second document be by itself?")
def positions_run_on(lengths, T):
    """The positions of a row are 0 to T - 1."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    document = (place[:, None] >= ends[:, None]).sum(-1)
    real = place < ends[:, -1:]
    mask = (document[:, :, None] == document[:, None]) & real[:, None] & (place[:, None] >= place)
    return mask[:, None], place * real


@exercise.mistake("What do the places after the last document hold? Who should see it?")
def padding_is_a_document(lengths, T):
    """What follows the last document is one more document."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    document = (place[:, None] >= ends[:, None]).sum(-1)
    mask = (document[:, :, None] == document[:, None]) & (place[:, None] >= place)
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=-1)
    return mask[:, None], place - starts.gather(-1, document)


@exercise.mistake("Does a causal mask hide a word from itself?")
def blind_to_itself(lengths, T):
    """A word may see only what comes before it."""
    ends = lengths.cumsum(-1)
    place = torch.arange(T)
    document = (place[:, None] >= ends[:, None]).sum(-1)
    real = place < ends[:, -1:]
    mask = (document[:, :, None] == document[:, None]) & real[:, None] & (place[:, None] > place)
    starts = torch.cat([torch.zeros_like(ends[:, :1]), ends], dim=-1)
    return mask[:, None], (place - starts.gather(-1, document)) * real


@exercise.alternative
def block_by_block(lengths, T):
    """Sets a triangle for each document, row by row."""
    mask = torch.zeros(len(lengths), 1, T, T, dtype=torch.bool)
    positions = torch.zeros(len(lengths), T, dtype=torch.long)
    for row, of_row in enumerate(lengths.tolist()):
        start = 0
        for n in of_row:
            mask[row, 0, start : start + n, start : start + n] = torch.ones(n, n).tril().bool()
            positions[row, start : start + n] = torch.arange(n)
            start += n
    return mask, positions


@exercise.alternative
def by_counting_back(lengths, T):
    """A key is visible if it lies no further back than its query is in its document."""
    positions = torch.zeros(len(lengths), T, dtype=torch.long)
    real = torch.zeros(len(lengths), T, dtype=torch.bool)
    for row, of_row in enumerate(lengths.tolist()):
        counted = [i for n in of_row for i in range(n)]
        positions[row, : len(counted)] = torch.tensor(counted, dtype=torch.long)
        real[row, : len(counted)] = True
    back = torch.arange(T)[:, None] - torch.arange(T)
    mask = (back >= 0) & (back <= positions[:, :, None]) & real[:, :, None]
    return mask[:, None], positions
