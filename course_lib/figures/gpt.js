// A GPT and its tokenizer, as course_lib.trained.load_writer has them.
window.courseRuntime.writer = (base64) => {
  const { add, attend, gelu, layerNorm, layers, linear, unpack } = window.courseRuntime;
  const { text, weights } = unpack(base64);
  const { d_model: D, n_heads: H, n_layers: L, max_len: most } = JSON.parse(text.config);
  const merges = JSON.parse(text.merges);
  const tokens = [...new Set([...text.alphabet, ...merges.map((pair) => pair.join(""))])];
  const numbers = new Map(tokens.map((token, n) => [token, n]));
  const ranks = new Map(merges.map((pair, n) => [pair.join("\0"), n]));

  // The oldest merge first, as it was learned; characters that the model does not know are left out.
  function encode(typed) {
    const known = [...typed].filter((letter) => text.alphabet.includes(letter)).join("");
    return (known.match(/ ?[A-Za-z]+|[^A-Za-z ]+| /g) ?? []).flatMap((word) => {
      let parts = [...word];
      for (;;) {
        const best = Math.min(...parts.slice(1).map((part, n) => ranks.get(`${parts[n]}\0${part}`) ?? Infinity));
        if (best === Infinity) return parts.map((part) => numbers.get(part));
        const [left, right] = merges[best];
        parts = parts.reduce((joined, part) => (joined.at(-1) === left && part === right
          ? [...joined.slice(0, -1), left + right] : [...joined, part]), []);
      }
    });
  }

  // Logits of the next token, and all maps: of the last tokens, as many as there are positions.
  function read(text) {
    const seen = text.slice(-most);
    let x = new Float64Array(seen.length * D);
    seen.forEach((token, t) => x.set(add(
      weights["tokens.weight"].slice(token * D, (token + 1) * D), weights.positions.slice(t * D, (t + 1) * D)), t * D));
    const maps = [...Array(L).keys()].map((l) => {
      const block = layers(weights, `blocks.${l}`);
      const looked = block.attention(x, "attention", (y, map) =>
        attend(map(y, "q"), map(y, "k"), map(y, "v"), D, Array(H).fill(1), true));
      x = block.feedForward(looked.x, gelu);
      return looked.maps;
    });
    const last = layerNorm(x.slice(-D), weights["norm.weight"], weights["norm.bias"]);
    return { logits: linear(last, weights["tokens.weight"]), maps };
  }

  return { encode, read, tokens };
};
