// The curves of the long sum: the running total over the number of additions.

const CHART = { width: 360, height: 190, left: 8, right: 82, top: 12, bottom: 26 };
const DASHES = { float16: "6 3", bfloat16: "2 3", float32: null };

/**
 * The chart. → {element, clear(), update(task, truth, runs)}
 * Its height is the largest sum, but at most twice the true one: a curve that goes higher, or to
 * infinity, ends where it leaves.
 */
function makeChart(codec) {
  const svg = draw("svg", { class: "chart", viewBox: `0 0 ${CHART.width} ${CHART.height}`,
    role: "img", "aria-label": "the running sum over the number of additions" });
  const clear = () => svg.toggleAttribute("hidden", true);
  clear();
  const [left, right] = [CHART.left, CHART.width - CHART.right];
  const [top, bottom] = [CHART.top, CHART.height - CHART.bottom];

  function update(task, truth, runs) {
    svg.toggleAttribute("hidden", isZero(truth));
    if (isZero(truth)) return;
    const xOf = (done) => left + ((right - left) * done) / task.count;
    // Every sum has the sign of the true one.
    const shareOf = (value) => nearNumber(codec.div(value, truth));
    const curves = runs.map(({ name, points }) => ({ name, spots: points.map(({ done, code }) => {
      const { value } = codec.decode(code, name);
      return { done, share: value.kind === "finite" ? shareOf(value) : Infinity };
    }) }));
    const shares = curves.flatMap(({ spots }) => spots.map(({ share }) => share));
    const most = Math.max(1, ...shares.filter((share) => share <= 2));
    const higher = most > 1
      ? codec.mul(truth, dyadic(BigInt(Math.round(most * 2 ** 30)), -30)) : truth;
    const yOf = (share) => bottom - ((bottom - top) * share) / most;
    const text = (x, y, words, more = {}) => draw("text", { x, y, ...more }, words);
    svg.replaceChildren(
      draw("path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` }),
      draw("path", { class: "truth", d: `M${left},${bottom}L${right},${yOf(1)}` }),
      text(left, CHART.height - 9, "0"),
      text(left + 6, top + 6, readable(codec, higher, 14, 6)),
      text(right, CHART.height - 9, `${task.count} additions`, { "text-anchor": "end" }));
    const labels = [];
    for (const { name, spots } of curves) {
      const leaves = spots.findIndex(({ share }) => share > most);
      const line = spots.slice(0, leaves < 0 ? spots.length : leaves)
        .map(({ done, share }) => [xOf(done), yOf(share)]);
      if (leaves < 0) line.push([right, line.at(-1)[1]]);
      else line.push([crossing(spots[leaves - 1], spots[leaves]), top]);
      const d = line.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`);
      svg.append(draw("path", { class: "curve", "data-format": name, d: d.join(""),
        "stroke-dasharray": DASHES[name] }));
      const end = spots.at(-1).share === Infinity ? " → ∞" : leaves < 0 ? "" : " ↑";
      labels.push({ text: name + end, y: line.at(-1)[1] + 4 });
    }
    /** Where the line from one spot to the next meets the top. */
    function crossing(from, to) {
      const part = to.share === Infinity ? 1 : (most - from.share) / (to.share - from.share);
      return xOf(from.done + (to.done - from.done) * part);
    }
    // Labels at the ends of the curves, pushed apart where they would overlap.
    labels.sort((one, other) => one.y - other.y);
    labels.forEach((label, index) => {
      if (index) label.y = Math.max(label.y, labels[index - 1].y + 13);
    });
    const over = Math.max(0, labels.at(-1).y - bottom - 4);
    labels.reverse().reduce((below, label) => {
      label.y = Math.min(label.y - (over && below === Infinity ? over : 0), below - 13);
      svg.append(text(right + 6, label.y, label.text));
      return label.y;
    }, Infinity);
  }

  return { element: svg, clear, update };
}
