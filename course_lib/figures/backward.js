// A network that learns, on what the runtime computes forwards: each step leaves behind how a
// gradient goes back through it. Twin of course_lib.transformer.mirror.Mirror.
window.courseRuntime.mirror = ({ width: D, length: T, digits: V, epsilon, arrangement, blocks, weights: given }) => {
  const { attend, gelu, layerNorm, linear, softmax } = window.courseRuntime;
  const normed = ["norm", "post", "pre"].includes(arrangement);
  const shapes = { places: [T, D], digits: [V, D] };
  const norms = (name) => { if (normed) Object.assign(shapes, { [`${name}.weight`]: [D], [`${name}.bias`]: [D] }); };
  const maps = (name, inputs, outputs) =>
    Object.assign(shapes, { [`${name}.weight`]: [outputs, inputs], [`${name}.bias`]: [outputs] });
  for (let l = 0; l < blocks; l++) {
    norms(`${l}.attention_norm`);
    for (const role of "qkvo") maps(`${l}.${role}`, D, D);
    norms(`${l}.feed_forward_norm`);
    maps(`${l}.in`, D, 4 * D);
    maps(`${l}.out`, 4 * D, D);
  }
  if (normed && arrangement !== "post") norms("norm");
  maps("guess", D, V);
  const sizes = Object.values(shapes).map((shape) => shape.reduce((a, b) => a * b));
  const count = sizes.reduce((a, b) => a + b);
  const [weights, gradient, mean, square] = [...Array(4)].map(() => new Float64Array(count));
  const parameters = {};
  Object.keys(shapes).forEach((name, n) => {
    const from = sizes.slice(0, n).reduce((a, b) => a + b, 0);
    const part = (numbers) => numbers.subarray(from, from + sizes[n]);
    parameters[name] = { value: Object.assign(part(weights), { shape: shapes[name] }), grad: part(gradient) };
  });

  // Matrices by Xavier, both embeddings with variance 1, shifts 0 and scales 1.
  function draw(seed) {
    const next = window.courseFigure.mulberry32(seed);
    for (const [name, { value }] of Object.entries(parameters)) {
      const [outputs, inputs] = value.shape;
      const std = ["places", "digits"].includes(name) ? 1 : Math.sqrt(2 / (outputs + inputs));
      const bound = std * Math.sqrt(3);
      if (inputs) for (let i = 0; i < value.length; i++) value[i] = bound * (2 * next() - 1);
      else value.fill(name.endsWith("norm.weight") ? 1 : 0);
    }
  }
  if (typeof given === "number") draw(given);
  else weights.set(given);

  // What the steps of one pass leave behind, the last one first, and how many were learned from.
  let [back, steps] = [[], 0];
  function made(value, backwards) {
    const node = { value, grad: new Float64Array(value.length) };
    back.push(() => backwards(node.grad));
    return node;
  }
  function map(x, name) {
    const [w, b] = [parameters[`${name}.weight`], parameters[`${name}.bias`]];
    const [outputs, inputs] = w.value.shape;
    return made(linear(x.value, w.value, b.value), (g) => {
      for (let n = 0, at = 0; n < g.length; at += inputs) {
        for (let o = 0, row = 0; o < outputs; o++, n++, row += inputs) {
          b.grad[o] += g[n];
          for (let i = 0; i < inputs; i++) {
            w.grad[row + i] += g[n] * x.value[at + i];
            x.grad[at + i] += g[n] * w.value[row + i];
          }
        }
      }
    });
  }
  function norm(x, name) {
    const [scale, shift] = [parameters[`${name}.weight`], parameters[`${name}.bias`]];
    return made(layerNorm(x.value, scale.value, shift.value), (g) => {
      for (let at = 0; at < g.length; at += D) {
        let [middle, variance, all, along] = [0, 0, 0, 0];
        for (let i = 0; i < D; i++) middle += x.value[at + i] / D;
        for (let i = 0; i < D; i++) variance += (x.value[at + i] - middle) ** 2 / D;
        const size = Math.sqrt(variance + 1e-5);
        const centred = (i) => (x.value[at + i] - middle) / size;
        for (let i = 0; i < D; i++) {
          scale.grad[i] += g[at + i] * centred(i);
          shift.grad[i] += g[at + i];
          all += g[at + i] * scale.value[i] / D;
          along += g[at + i] * scale.value[i] * centred(i) / D;
        }
        for (let i = 0; i < D; i++) x.grad[at + i] += (g[at + i] * scale.value[i] - all - centred(i) * along) / size;
      }
    });
  }
  function attention(q, k, v, keep) {
    const out = new Float64Array(q.value.length);
    const every = [];
    for (let at = 0; at < out.length; at += T * D) {
      const found = attend(...[q, k, v].map(({ value }) => value.subarray(at, at + T * D)), D, [1]);
      out.set(found.out, at);
      every.push(found.maps[0]);
    }
    keep.push(every);
    return made(out, (g) => every.forEach((rows, n) => rows.forEach((row, t) => {
      const mine = (n * T + t) * D;
      const toWeight = row.map((weight, s) => {
        const theirs = (n * T + s) * D;
        let sum = 0;
        for (let i = 0; i < D; i++) {
          sum += g[mine + i] * v.value[theirs + i];
          v.grad[theirs + i] += weight * g[mine + i];
        }
        return sum;
      });
      const common = row.reduce((sum, weight, s) => sum + weight * toWeight[s], 0);
      row.forEach((weight, s) => {
        const toScore = weight * (toWeight[s] - common) / Math.sqrt(D);
        const theirs = (n * T + s) * D;
        for (let i = 0; i < D; i++) {
          q.grad[mine + i] += toScore * k.value[theirs + i];
          k.grad[theirs + i] += toScore * q.value[mine + i];
        }
      });
    })));
  }
  const activate = (x) => made(x.value.map(gelu), (g) => x.value.forEach((z, i) => {
    const below = z ? gelu(z) / z : 0.5;
    x.grad[i] += g[i] * (below + z * Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI));
  }));
  const add = (x, y) => made(x.value.map((value, i) => value + y.value[i]), (g) =>
    g.forEach((slope, i) => { x.grad[i] += slope; y.grad[i] += slope; }));
  function embed(tokens) {
    const out = new Float64Array(tokens.length * D);
    const { places, digits } = parameters;
    const each = (what) => tokens.forEach((token, n) => {
      for (let i = 0; i < D; i++) what(n * D + i, token * D + i, n % T * D + i);
    });
    each((n, digit, place) => { out[n] = digits.value[digit] + places.value[place]; });
    return made(out, (g) => each((n, digit, place) => { digits.grad[digit] += g[n]; places.grad[place] += g[n]; }));
  }

  // What surrounds a part, as in course_lib.transformer.depth.
  function surround(x, name, part) {
    const out = part(["pre", "norm"].includes(arrangement) ? norm(x, name) : x);
    const sum = ["pre", "post", "residual"].includes(arrangement) ? add(x, out) : out;
    return arrangement === "post" ? norm(sum, name) : sum;
  }

  // What each place has to write: the digit at the mirrored place of its sequence.
  const mirrored = (tokens) => tokens.map((_, n) => tokens[n - n % T + T - 1 - n % T]);

  // Reads sequences, one after another in `tokens`: logits, loss, and the maps of each block.
  function read(tokens) {
    back = [];
    const found = [];
    let x = embed(tokens);
    for (let l = 0; l < blocks; l++) {
      x = surround(x, `${l}.attention_norm`, (y) =>
        map(attention(...["q", "k", "v"].map((role) => map(y, `${l}.${role}`)), found), `${l}.o`));
      x = surround(x, `${l}.feed_forward_norm`, (y) => map(activate(map(y, `${l}.in`)), `${l}.out`));
    }
    if (parameters["norm.weight"]) x = norm(x, "norm");
    const logits = map(x, "guess");
    let loss = 0;
    mirrored(tokens).forEach((digit, n) => {
      const row = logits.value.subarray(n * V, (n + 1) * V);
      const shares = softmax(row);
      const most = row.reduce((a, b) => Math.max(a, b));
      const total = row.reduce((sum, logit) => sum + Math.exp(logit - most), 0);
      loss += (most + Math.log(total) - row[digit]) / tokens.length;
      shares.forEach((share, i) => { logits.grad[n * V + i] = (share - (i === digit)) / tokens.length; });
    });
    return { loss, logits: logits.value, maps: found };
  }

  // One step of Adam.
  function learn(tokens, rate) {
    const { loss } = read(tokens);
    gradient.fill(0);
    while (back.length) back.pop()();
    steps += 1;
    const [first, second] = [1 - 0.9 ** steps, Math.sqrt(1 - 0.999 ** steps)];
    for (let i = 0; i < count; i++) {
      mean[i] += (gradient[i] - mean[i]) * (1 - 0.9);
      square[i] = square[i] * 0.999 + gradient[i] * gradient[i] * (1 - 0.999);
      weights[i] -= rate / first * mean[i] / (Math.sqrt(square[i]) / second + epsilon);
    }
    return loss;
  }

  // The digit that each place gives, and the share that is right.
  function guess(tokens) {
    const { logits, ...found } = read(tokens);
    const said = tokens.map((_, n) => {
      const row = logits.subarray(n * V, (n + 1) * V);
      return row.indexOf(row.reduce((a, b) => Math.max(a, b)));
    });
    const right = mirrored(tokens).filter((digit, n) => digit === said[n]);
    return { ...found, logits, said, accuracy: right.length / tokens.length };
  }

  return { weights, gradient, learn, guess };
};
