// An Informer with full attention and a line, as course_lib.informer has them, for one variable.
window.courseRuntime.forecast = (base64) => {
  const { add, attend, gelu, layerNorm, layers, linear, unpack } = window.courseRuntime;
  const { text, weights } = unpack(base64);
  const config = JSON.parse(text.config);
  const { d_model: D, n_heads: H, n_layers: L, seq_len: S, label_len: known, pred_len: ahead, mean, std } = config;
  const count = (n) => [...Array(n).keys()];
  const scale = (degrees) => (degrees - mean) / std;

  // Each row with its neighbours, the ends being neighbours too; `linear` wants a multiple of 4.
  function convolve(x, C, name) {
    const T = x.length / C;
    const width = 4 * Math.ceil(3 * C / 4);
    const wide = (rows, at) => Object.assign(new Float64Array(rows * width).map((_, n) =>
      (n % width < 3 * C ? at(Math.floor(n / width), n % width) : 0)), { shape: [rows, width] });
    const kernel = weights[`${name}.weight`];
    return linear(wide(T, (t, i) => x[(t + i % 3 - 1 + T) % T * C + Math.floor(i / 3)]),
      wide(D, (o, i) => kernel[o * 3 * C + i]), weights[`${name}.bias`]);
  }

  // Hour, weekday, day of the month and of the year, in single precision as the training had them.
  function calendar(hour) {
    const time = new Date(Date.UTC(...config.begin) + hour * 3600e3);
    const day = Math.floor((time - Date.UTC(time.getUTCFullYear(), 0, 1)) / 864e5);
    return [time.getUTCHours() / 23, (time.getUTCDay() + 6) % 7 / 6, (time.getUTCDate() - 1) / 30, day / 365]
      .map((share) => Math.fround(share - 0.5));
  }

  // Torch keeps its table of positions in single precision.
  function embed(x, hours, side, { placed, timed }) {
    let tokens = convolve(Float64Array.from(x), 1, `${side}_embedding.values.conv`);
    if (timed) tokens = add(tokens, layers(weights, `${side}_embedding`).map(Float64Array.from(hours.flatMap(calendar)), "time"));
    return placed ? tokens.map((value, n) => {
      const [t, i] = [Math.floor(n / D), n % D];
      const angle = t * 10000 ** -((i - i % 2) / D);
      return value + Math.fround(i % 2 ? Math.cos(angle) : Math.sin(angle));
    }) : tokens;
  }

  // Every second place gets the largest of three, each with its statistics of the training taken off.
  function halve(x) {
    const at = (name) => weights[`distilling.0.norm.${name}`];
    const made = convolve(x, D, "distilling.0.conv").map((value, n) => {
      const i = n % D;
      const y = (value - at("running_mean")[i]) / Math.sqrt(at("running_var")[i] + 1e-5) * at("weight")[i] + at("bias")[i];
      return y > 0 ? y : Math.expm1(y);
    });
    const T = x.length / D;
    return new Float64Array(Math.ceil(T / 2) * D).map((_, n) => Math.max(...[-1, 0, 1]
      .map((by) => 2 * Math.floor(n / D) + by).filter((t) => t >= 0 && t < T).map((t) => made[t * D + n % D])));
  }

  function informer(read, start, given) {
    const factors = (kind, layer) => count(H).map((head) =>
      given.off.some(([k, l, h]) => k === kind && l === layer && h === head) ? 0 : 1);
    const hours = count(S + ahead).map((t) => start + t);
    let maps;
    const look = (block, x, memory, name, heads, causal) => {
      const [q, k, v] = [[x, "q"], [memory, "k"], [memory, "v"]].map(([y, role]) => block.map(y, `${name}.${role}_proj`));
      const found = attend(q, k, v, D, heads, causal);
      maps = found.maps;
      return block.norm(add(x, block.map(found.out, `${name}.out_proj`)), `${name}_norm`);
    };
    const finish = (block, x) => block.norm(add(x, block.map(block.map(x, "feed_forward.in_proj").map(gelu),
      "feed_forward.out_proj")), "feed_forward_norm");
    let memory = embed(read, hours.slice(0, S), "encoder", given);
    for (let l = 0; l < L; l++) {
      const block = layers(weights, `encoder_layers.${l}`);
      memory = finish(block, look(block, memory, memory, "attention", factors("encoder", l)));
      if (l < L - 1) memory = halve(memory);
    }
    const end = (side, y) => layerNorm(y, weights[`${side}_norm.weight`], weights[`${side}_norm.bias`]);
    memory = end("encoder", memory);
    const block = layers(weights, "decoder_layers.0");
    let x = embed([...read.slice(S - known), ...Array(ahead).fill(0)], hours.slice(S - known), "decoder", given);
    x = look(block, x, x, "attention", factors("decoder", 0), true);
    x = end("decoder", finish(block, look(block, x, memory, "cross_attention", factors("cross", 0))));
    const made = linear(x.slice(known * D), weights["out_proj.weight"], weights["out_proj.bias"]);
    return { made, maps: maps.map((rows) => rows.slice(known)) };
  }

  // `order` has the hour that comes to each place of the history; the calendar stays where it is.
  function forecast(given) {
    const read = Float64Array.from(given.order, (n) => scale(given.values[n]));
    const { made, maps } = informer(read, given.start, given);
    const forecasts = {
      informer: made, line: linear(read, weights.line, weights.constant),
      yesterday: read.slice(S - ahead), last: new Float64Array(ahead).fill(read[S - 1]),
    };
    const truth = given.truth.map(scale);
    const errors = {};
    for (const [name, y] of Object.entries(forecasts)) {
      errors[name] = truth.reduce((sum, wanted, t) => sum + (y[t] - wanted) ** 2, 0) / ahead;
      forecasts[name] = [...y].map((value) => value * std + mean);
    }
    return { forecasts, errors, maps };
  }

  return { config, forecast };
};
