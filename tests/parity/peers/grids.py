"""Attention on a grid, made cheaper by convolutions or stripes."""

from typing import Any

from torch import Tensor, nn

from course_lib.efficient.convolutional import (
    ConvolutionalAttention,
    CrossShapedAttention,
    ReducedAttention,
)
from course_tests.parity.peers.contract import Mechanism, Reference, built, drawn
from course_tests.parity.peers.copying import copy_submodules, copy_weights, settled


def _cvt(*, fast: bool, d_model: int, n_heads: int, **sizes: int) -> nn.Module:
    return settled(ConvolutionalAttention(d_model, n_heads, fused=fast))


def _cvt_peer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers.models.cvt.modeling_cvt import CvtAttention

    peer = CvtAttention(
        attend.n_heads,
        attend.d_model,
        kernel_size=3,
        padding_q=1,
        padding_kv=1,
        stride_q=1,
        stride_kv=2,
        qkv_projection_method="dw_bn",
        qkv_bias=True,
        attention_drop_rate=0.0,
        drop_rate=0.0,
        with_cls_token=False,
    )
    # Both define convolutions, maps, output in the order q, k, v.
    copy_weights(peer, attend)
    return _on_grid(peer, inputs)


def _on_grid(peer: nn.Module, inputs: tuple[Any, ...]) -> Reference:
    """A peer that wants a sequence and the sides of the grid; both are views of the same."""

    def call(x: Tensor) -> Tensor:
        rows, columns = x.shape[1:3]
        out = peer(x.flatten(1, 2), rows, columns)
        return (out[0] if isinstance(out, tuple) else out).unflatten(1, (rows, columns))

    return Reference(call, inputs)


def _pvt_peer(attend: Any, inputs: tuple[Any, ...]) -> Reference:
    from transformers import PvtConfig
    from transformers.models.pvt.modeling_pvt import PvtAttention

    config = PvtConfig(layer_norm_eps=attend.norm.eps, qkv_bias=True)
    peer = PvtAttention(config, attend.d_model, attend.n_heads, attend.reduction)
    copy_submodules(
        peer,
        attend,
        "self.query=q_proj self.key=k_proj self.value=v_proj output.dense=out_proj"
        " self.sequence_reduction=reduce self.layer_norm=norm",
    )
    return _on_grid(peer.eval(), inputs)


MECHANISMS = (
    Mechanism(
        name="cvt_projection",
        source="Wu et al., CvT (2021), section 3.2",
        build=_cvt,
        inputs=drawn("batch rows columns d_model"),
        tiny={"batch": 2, "rows": 5, "columns": 4, "d_model": 8, "n_heads": 2},
        small=dict(batch=2, rows=8, columns=8, d_model=64, n_heads=2),
        large=dict(batch=2, rows=28, columns=28, d_model=192, n_heads=3),
        peer=_cvt_peer,
        peer_name="transformers.models.cvt.modeling_cvt.CvtAttention",
    ),
    Mechanism(
        name="pvt_reduction",
        source="Wang et al., Pyramid Vision Transformer (2021), section 3.3",
        build=built(ReducedAttention, "d_model", "n_heads", "reduction=reduction"),
        inputs=drawn("batch rows columns d_model"),
        tiny={"batch": 2, "rows": 6, "columns": 4, "d_model": 8, "n_heads": 2, "reduction": 2},
        small=dict(batch=2, rows=8, columns=8, d_model=64, n_heads=2, reduction=2),
        large=dict(batch=2, rows=28, columns=28, d_model=128, n_heads=2, reduction=4),
        peer=_pvt_peer,
        peer_name="transformers.models.pvt.modeling_pvt.PvtAttention",
    ),
    Mechanism(
        name="cswin_stripes",
        home=__name__,
        source="Dong et al., CSWin Transformer (2022), section 3.2",
        build=built(CrossShapedAttention, "d_model", "n_heads", "stripe=stripe"),
        inputs=drawn("batch rows columns d_model"),
        tiny={"batch": 2, "rows": 6, "columns": 4, "d_model": 8, "n_heads": 4, "stripe": 2},
        small=dict(batch=2, rows=8, columns=8, d_model=64, n_heads=4, stripe=2),
        large=dict(batch=2, rows=28, columns=28, d_model=128, n_heads=4, stripe=7),
    ),
)
