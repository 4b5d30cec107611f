// An encoder and a decoder, as course_lib.transformer.EncoderDecoder has them.
window.courseRuntime.translator = (base64) => {
  const { attend, join, layers, linear, softmax, unpack } = window.courseRuntime;
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
    const memories = every.map((l) => {
      const { map } = layers(weights, `decoder.blocks.${l}.cross_attention`);
      return ["k", "v"].map((role) => map(memory, `${role}_proj`));
    });
    const nothing = new Float64Array(0);

    // Several may go on from one past: what is kept is never changed in place.
    function resume(tokens, own, maps) {
      function write(word) {
        tokens.push(number(target, word));
        if (!masked || tokens.length === 1) {
          own = every.map(() => [nothing, nothing]);
          for (const kind of ["decoder", "cross"]) maps[kind] = every.map(() => factors(kind, 0).map(() => []));
        }
        const fresh = masked ? tokens.slice(-1) : tokens;
        const first = tokens.length - fresh.length;
        let x = embed(weights["target_embedding.tokens.weight"], fresh, fresh.map((_, t) => first + t));
        for (const l of every) {
          const block = layers(weights, `decoder.blocks.${l}`);
          const looks = {
            decoder: (y, map) => {
              own[l] = ["k", "v"].map((role, i) => join(own[l][i], map(y, role)));
              return attend(map(y, "q"), ...own[l], D, factors("decoder", l));
            },
            cross: (y, map) => attend(map(y, "q"), ...memories[l], D, factors("cross", l)),
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
      const count = () => [memories, masked ? own : []].flat(2).reduce((sum, numbers) => sum + numbers.length, 0);
      const fork = () => resume([...tokens], [...own], structuredClone(maps));
      return { write, maps, count, fork };
    }
    return resume([], [], maps);
  }

  // The best beginnings: each is extended by every word, and the best of all extensions stay. What has
  // ended and is pushed out counts again in the end.
  function search(given) {
    let best = [{ reading: read(given), last: "<bos>", words: [], score: 0 }];
    const ranked = (some) => some.sort((a, b) => b.score - a.score).slice(0, given.beam);
    const aside = [];
    for (let t = 0; t < given.length; t++) {
      const longer = ranked(best.flatMap((one) => {
        if (one.last === "<eos>") return [one];
        const reading = one.reading.fork();
        const shares = softmax(reading.write(one.last));
        return target.map((last, i) => (
          { reading, last, words: [...one.words, last], score: one.score + Math.log(shares[i]) }));
      }));
      aside.push(...best.filter((one) => one.last === "<eos>" && !longer.includes(one)));
      best = longer;
    }
    best = ranked([...best, ...aside]);
    return { words: best.map(({ words }) => words), scores: best.map(({ score }) => score) };
  }

  return { config, source, target, read, search, softmax };
};
