"""Transformers: an encoder, a decoder, both together, and a decoder alone.

Stacks take vectors and know nothing of words. Models add embeddings, positions and logits, and can
write: :meth:`EncoderDecoder.generate` translates, :meth:`DecoderOnly.generate` continues a text.
"""

from course_lib.transformer.config import DecoderOnlyConfig, TransformerConfig
from course_lib.transformer.decoder_only import DecoderOnly
from course_lib.transformer.embedding import PositionedEmbedding
from course_lib.transformer.encoder_decoder import (
    EncoderDecoder,
    TransformerWeights,
    transformer_base,
)
from course_lib.transformer.stacks import Decoder, Encoder
