// Trained networks in plain JavaScript: what all figures with a model in them share. Numbers are
// doubles, row after row; half-precision weights widen without loss, so torch's double precision
// gives the same to the last digits.
window.courseRuntime ??= (() => {
  function half(bits) {
    const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
    const size = exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24;
    return bits >> 15 ? -size : size;
  }

  // A safetensors file in base64: the length of its header, the header in JSON, the numbers.
  function unpack(base64) {
    const letters = atob(base64);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
    const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const { __metadata__: text, ...header } = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
    const weights = {};
    for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(header)) {
      if (dtype !== "F16") throw new Error(`${name} has dtype ${dtype}, wanted F16`);
      const numbers = new Uint16Array(bytes.buffer.slice(start + from, start + to));
      weights[name] = Object.assign(Float64Array.from(numbers, half), { shape });
    }
    return { text, weights };
  }

  // x W^T + b. Four sums at a time: each would wait for its own last addition.
  function linear(x, weight, bias) {
    const [outputs, inputs] = weight.shape;
    if (inputs % 4) throw new Error(`a matrix has ${inputs} inputs, wanted a multiple of 4`);
    const out = new Float64Array(x.length / inputs * outputs);
    for (let n = 0, at = 0; at < x.length; at += inputs) {
      for (let o = 0, row = 0; o < outputs; o++, row += inputs) {
        let [a, b, c, d] = [bias ? bias[o] : 0, 0, 0, 0];
        for (let i = 0; i < inputs; i += 4) {
          a += x[at + i] * weight[row + i];
          b += x[at + i + 1] * weight[row + i + 1];
          c += x[at + i + 2] * weight[row + i + 2];
          d += x[at + i + 3] * weight[row + i + 3];
        }
        out[n++] = a + b + (c + d);
      }
    }
    return out;
  }

  function layerNorm(x, scale, shift, eps = 1e-5) {
    const D = scale.length;
    const out = new Float64Array(x.length);
    for (let at = 0; at < x.length; at += D) {
      const row = x.subarray(at, at + D);
      const mean = row.reduce((sum, v) => sum + v, 0) / D;
      const variance = row.reduce((sum, v) => sum + (v - mean) ** 2, 0) / D;
      for (let i = 0; i < D; i++) out[at + i] = (row[i] - mean) / Math.sqrt(variance + eps) * scale[i] + shift[i];
    }
    return out;
  }

  function softmax(scores) {
    const most = scores.reduce((a, b) => Math.max(a, b));
    const powers = scores.map((score) => Math.exp(score - most));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((power) => power / total);
  }

  // T queries look at S keys in as many heads as there are factors; a factor of 0 silences a head.
  function attend(q, k, v, D, factors) {
    const [T, S, width] = [q.length / D, k.length / D, D / factors.length];
    const out = new Float64Array(T * D);
    const maps = factors.map((factor, h) => [...Array(T).keys()].map((t) => {
      const mine = t * D + h * width;
      const scores = new Float64Array(S);
      for (let s = 0, at = h * width; s < S; s++, at += D) {
        for (let i = 0; i < width; i++) scores[s] += q[mine + i] * k[at + i];
        scores[s] /= Math.sqrt(width);
      }
      const weights = softmax(scores);
      for (let s = 0, at = h * width; s < S; s++, at += D) {
        for (let i = 0; i < width; i++) out[mine + i] += factor * weights[s] * v[at + i];
      }
      return [...weights];
    }));
    return { out, maps };
  }

  const add = (x, y) => x.map((value, i) => value + y[i]);
  function join(x, y) {
    const out = new Float64Array(x.length + y.length);
    out.set(x);
    out.set(y, x.length);
    return out;
  }

  // The layers below a name of the file; blocks have their norms first.
  function layers(weights, name) {
    const at = (rest) => weights[`${name}.${rest}`];
    const self = {
      map: (x, rest) => linear(x, at(`${rest}.weight`), at(`${rest}.bias`)),
      norm: (x, rest) => layerNorm(x, at(`${rest}.weight`), at(`${rest}.bias`)),
      // `look` makes of normalised tokens what attention reads, and its maps.
      attention(x, rest, look) {
        const { out, maps } = look(self.norm(x, `${rest}_norm`), (y, role) => self.map(y, `${rest}.${role}_proj`));
        return { x: add(x, self.map(out, `${rest}.out_proj`)), maps };
      },
      feedForward(x, activation) {
        const hidden = self.map(self.norm(x, "feed_forward_norm"), "feed_forward.in_proj").map(activation);
        return add(x, self.map(hidden, "feed_forward.out_proj"));
      },
    };
    return self;
  }

  // An encoder and a decoder, as course_lib.transformer.EncoderDecoder has them.
  function translator(base64) {
    const { text, weights } = unpack(base64);
    const config = JSON.parse(text.config);
    const { d_model: D, n_heads: H, n_layers: L } = config;
    const special = ["<pad>", "<bos>", "<eos>", "<unk>"];
    const [source, target] = ["source", "target"].map((side) => special.concat(JSON.parse(text[side])));
    const number = (words, word) => (words.includes(word) ? words.indexOf(word) : special.indexOf("<unk>"));
    const relu = (value) => Math.max(0, value);
    const every = [...Array(L).keys()];

    // Torch keeps its table of positions in single precision.
    function embed(table, tokens, places) {
      const out = new Float64Array(tokens.length * D);
      for (let n = 0; n < out.length; n++) {
        const [t, i] = [Math.floor(n / D), n % D];
        const angle = places[t] * 10000 ** -((i - i % 2) / D);
        out[n] = table[tokens[t] * D + i] * Math.sqrt(D) + Math.fround(i % 2 ? Math.cos(angle) : Math.sin(angle));
      }
      return out;
    }

    // Reads a sentence, then writes word by word. Without the causal mask all that is written is read
    // again for each word: what is kept of the past would be another past's.
    function read({ source: words, places, off, masked }) {
      const factors = (kind, layer) => [...Array(H).keys()].map((head) =>
        off.some(([k, l, h]) => k === kind && l === layer && h === head) ? 0 : 1);
      const maps = { encoder: [], decoder: [], cross: [] };
      let memory = embed(weights["source_embedding.tokens.weight"], words.map((w) => number(source, w)), places);
      for (const l of every) {
        const block = layers(weights, `encoder.blocks.${l}`);
        const found = block.attention(memory, "attention", (x, map) =>
          attend(map(x, "q"), map(x, "k"), map(x, "v"), D, factors("encoder", l)));
        maps.encoder.push(found.maps);
        memory = block.feedForward(found.x, relu);
      }
      memory = layers(weights, "encoder").norm(memory, "norm");
      const kept = every.map((l) => {
        const { map } = layers(weights, `decoder.blocks.${l}.cross_attention`);
        return { of: ["k", "v"].map((role) => map(memory, `${role}_proj`)) };
      });
      const nothing = new Float64Array(0);
      const tokens = [];

      function write(word) {
        tokens.push(number(target, word));
        if (!masked || tokens.length === 1) {
          for (const layer of kept) layer.own = [nothing, nothing];
          for (const kind of ["decoder", "cross"]) maps[kind] = every.map(() => factors(kind, 0).map(() => []));
        }
        const fresh = masked ? tokens.slice(-1) : tokens;
        const first = tokens.length - fresh.length;
        let x = embed(weights["target_embedding.tokens.weight"], fresh, fresh.map((_, t) => first + t));
        for (const l of every) {
          const block = layers(weights, `decoder.blocks.${l}`);
          const looks = {
            decoder: (y, map) => {
              kept[l].own = ["k", "v"].map((role, i) => join(kept[l].own[i], map(y, role)));
              return attend(map(y, "q"), ...kept[l].own, D, factors("decoder", l));
            },
            cross: (y, map) => attend(map(y, "q"), ...kept[l].of, D, factors("cross", l)),
          };
          for (const [kind, rest] of [["decoder", "attention"], ["cross", "cross_attention"]]) {
            const found = block.attention(x, rest, looks[kind]);
            x = found.x;
            found.maps.forEach((rows, h) => maps[kind][l][h].push(...rows));
          }
          x = block.feedForward(x, relu);
        }
        x = layers(weights, "decoder").norm(x.slice(-D), "norm");
        return linear(x, weights["target_embedding.tokens.weight"]);
      }

      // How many numbers the next word finds ready.
      const count = () => kept.flatMap(({ of, own }) => [...of, ...(masked ? own : [])])
        .reduce((sum, numbers) => sum + numbers.length, 0);
      return { write, maps, count };
    }

    return { config, source, target, read, softmax };
  }

  return { translator };
})();
