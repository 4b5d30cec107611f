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
        let a = bias ? bias[o] : 0;
        let b = 0;
        let c = 0;
        let d = 0;
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
  // Causal rows end with their own key.
  function attend(q, k, v, D, factors, causal = false) {
    const [T, width] = [q.length / D, D / factors.length];
    const out = new Float64Array(T * D);
    const maps = factors.map((factor, h) => [...Array(T).keys()].map((t) => {
      const mine = t * D + h * width;
      const S = causal ? t + 1 : k.length / D;
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

  // Exact, as torch has it: the error function by a series of positive terms, so that no digit is lost.
  function gelu(x) {
    const z = Math.abs(x) / Math.SQRT2;
    let term = z;
    let sum = z;
    for (let n = 1; z < 6 && term > 1e-17 * sum; n++) {
      term *= 2 * z * z / (2 * n + 1);
      sum += term;
    }
    const erf = z < 6 ? 2 / Math.sqrt(Math.PI) * Math.exp(-z * z) * sum : 1;
    return 0.5 * x * (1 + Math.sign(x) * erf);
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

  // A map as a picture: `most` gets all of the figure's colour for heat.
  function paint(canvas, rows, most = 1) {
    const size = 8;
    canvas.width = Math.max(...rows.map((row) => row.length)) * size;
    canvas.height = rows.length * size;
    const pen = canvas.getContext("2d");
    pen.fillStyle = getComputedStyle(canvas.closest("figure")).getPropertyValue("--course-heat");
    rows.forEach((row, t) => row.forEach((weight, s) => {
      pen.globalAlpha = weight / most;
      pen.fillRect(s * size, t * size, size, size);
    }));
  }

  return { add, attend, gelu, join, layerNorm, layers, linear, paint, softmax, unpack };
})();
