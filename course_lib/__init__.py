"""A course on attention: full implementations, checks and grading.

Begin with ``whole.py``: a GPT and a vision transformer in two hundred lines, of the same block. The
taught modules are what it leaves out.

Read first
    whole          a GPT, a ViT, one page

Taught, in the order of the chapters
    recurrence     RNN, GRU and LSTM steps
    seq2seq        encoder, decoder, attention between
    alignment      which word translates which
    lookup         attention as a dictionary
    attention      scaled dot-product, several heads
    scaling        why scores are scaled
    mixing         attention beside other layers
    masks          who may attend where
    layers         norm, feed-forward, block
    positions      sinusoids, rotations, biases, grids
    transformer    stacks, caches, whole models
    byte_pairs     tokens that a text teaches
    decoding       greedy, sampling, beam search
    attention_maps reading them: metrics, probes, ablations
    vit            patches and vision transformers
    resnet         the convolutional network beside them
    hybrid         convolutions first, attention afterwards
    calibration    how sure, how often right
    efficient      cheaper attention, exact and approximate
    swin           windows that shift and merge
    favit          a few keys a window
    informer       sparse queries, forecasts
    multimodal     words and images in one model

Data and training
    data           sets, their sources and loaders
    training       loop, checkpoints, seeds, measures
    packed         many small files in one archive
    strict         dataclasses that refuse wrong types
    trained        small trained models
    plots          the book's pictures, drawn
    drawings       how a mechanism works, drawn
    figures        figures that move without a kernel

Checks and grades, with the package ``grader``
    bank           exercises: properties, known mistakes, hints
    checks         the ``check`` of notebooks
    graded         stand-ins while an answer is graded
    old_names      of modules now in ``grader``

Measures and proves
    experiments    runs, records, verdicts
    claims         the documents' statements, executed

Publishes
    book           builds, prints and reports on pages
    cli            the ``course`` command

What a model can compute itself (sines, window indices, causal masks) is not in its state. A model
made on ``torch.device("meta")`` computes it in ``to_empty``, so call that before
``load_state_dict``: with ``assign=True`` alone some tables would stay on the meta device.
"""

from course_lib import old_names as old_names
