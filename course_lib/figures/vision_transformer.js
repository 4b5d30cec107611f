// A vision transformer with a class token and a learned table of positions, as course_lib.vit.ViT
// has it, and how a picture of a reader's becomes one that it can read.
window.courseRuntime.vit = (base64) => {
  const { add, attend, gelu, join, layers, softmax, unpack } = window.courseRuntime;
  const { text, weights } = unpack(base64);
  const config = JSON.parse(text.config);
  const { d_model: D, n_heads: H, n_layers: L, image_size: size, patch_size: P, n_channels: C } = config;
  const side = size / P;
  const count = (n) => [...Array(n).keys()];
  const all = layers(weights, "model");
  const bare = weights["model.positions"].map((number, i) => (i < D ? number : 0));

  // Where in a picture (channel, row, column) each number of the patches stands, patch after patch.
  const places = count(side * side).map((patch) => {
    const [top, left] = [P * Math.floor(patch / side), P * (patch % side)];
    return count(C * P * P).map((i) => {
      const [channel, y, x] = [Math.floor(i / (P * P)), Math.floor(i / P) % P, i % P];
      return (channel * size + top + y) * size + left + x;
    });
  });

  // `order` has the patch that comes to each place; without positions only the class token has one.
  function classify({ pixels, order, placed }) {
    const lines = new Float64Array(pixels.length);
    order.flatMap((patch) => places[patch]).forEach((from, n) => {
      const channel = Math.floor(from / (size * size));
      lines[n] = (pixels[from] / 255 - config.mean[channel]) / config.std[channel];
    });
    let x = add(join(weights["model.cls_token"], all.map(lines, "patch_proj")),
      placed ? weights["model.positions"] : bare);
    const maps = count(L).map((l) => {
      const block = layers(weights, `model.blocks.${l}`);
      const found = block.attention(x, "attention", (y, map) =>
        attend(map(y, "q"), map(y, "k"), map(y, "v"), D, Array(H).fill(1)));
      x = block.feedForward(found.x, gelu);
      return found.maps;
    });
    const logits = all.map(all.norm(x.slice(0, D), "norm"), "head");
    // The class token's row of the product of all layers, each with half for the way around it.
    const rollout = maps.reduceRight((row, heads) => {
      const next = row.map((share) => share / 2);
      for (const map of heads) {
        map.forEach((weights, t) => weights.forEach((weight, s) => { next[s] += row[t] * weight / (2 * H); }));
      }
      return next;
    }, [1, ...Array(side * side).fill(0)]);
    return {
      logits: [...logits], probabilities: [...softmax(logits)],
      attention: maps.map((heads) => heads.map((map) => map[0])), rollout,
    };
  }

  // For each new pixel: where its old ones begin and what they count, as torch makes pictures smaller.
  function filter(before, after) {
    const scale = before / after;
    const reach = Math.max(1, scale);
    return count(after).map((n) => {
      const centre = scale * (n + 0.5);
      const from = Math.max(0, Math.floor(centre - reach + 0.5));
      const to = Math.min(before, Math.floor(centre + reach + 0.5));
      const shares = count(to - from).map((i) => Math.max(0, 1 - Math.abs((from + i - centre + 0.5) / reach)));
      const total = shares.reduce((a, b) => a + b, 0);
      return { from, shares: shares.map((share) => share / total) };
    });
  }

  // The middle square of a canvas's pixels; a canvas would make it smaller in a way of its own.
  function shrink({ data, width, height }) {
    const before = Math.min(width, height);
    const [top, left] = [Math.floor((height - before) / 2), Math.floor((width - before) / 2)];
    const made = filter(before, size);
    return count(C).flatMap((channel) => {
      const narrow = count(before).map((y) => made.map(({ from, shares }) => shares.reduce((sum, share, i) =>
        sum + share * data[4 * ((top + y) * width + left + from + i) + channel], 0)));
      return made.flatMap(({ from, shares }) => count(size).map((x) => Math.round(shares.reduce((sum, share, i) =>
        sum + share * narrow[from + i][x], 0))));
    });
  }

  async function read(file) {
    const picture = await createImageBitmap(file);
    const canvas = Object.assign(document.createElement("canvas"), { width: picture.width, height: picture.height });
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.fillStyle = "white";
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.drawImage(picture, 0, 0);
    return shrink(pen.getImageData(0, 0, canvas.width, canvas.height));
  }

  return { config, classify, places, read, shrink };
};
