// The curves of the long sum: the running total over the number of additions.

const CHART = { width: 360, height: 190, left: 8, right: 74, top: 12, bottom: 26 };
const DASHES = { float16: "6 3", bfloat16: "2 3", float32: null };

/** The chart. → {element, update(task, truth, runs)} */
function makeChart(codec) {
  const svg = draw("svg", { class: "chart", viewBox: `0 0 ${CHART.width} ${CHART.height}`,
    role: "img", "aria-label": "the running sum over the number of additions" });
  svg.toggleAttribute("hidden", true);
  const [left, right] = [CHART.left, CHART.width - CHART.right];
  const [top, bottom] = [CHART.top, CHART.height - CHART.bottom];

  function update(task, truth, runs) {
    svg.toggleAttribute("hidden", isZero(truth));
    if (isZero(truth)) return;
    const xOf = (done) => left + ((right - left) * done) / task.count;
    const yOf = (value) => {
      const part = nearNumber(codec.div(value, truth));
      return bottom - (bottom - top) * Math.max(0, Math.min(1, part));
    };
    const text = (x, y, words, more = {}) => draw("text", { x, y, ...more }, words);
    svg.replaceChildren(
      draw("path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` }),
      draw("path", { class: "truth", d: `M${left},${bottom}L${right},${top}` }),
      text(left, CHART.height - 9, "0"),
      text(left + 6, top + 6, readable(codec, truth, 14, 6)),
      text(right, CHART.height - 9, `${task.count} additions`, { "text-anchor": "end" }));
    const labels = [];
    for (const { name, points } of runs) {
      const spots = points.map(({ done, code }) => {
        const { value } = codec.decode(code, name);
        return value.kind === "nan" ? null : [xOf(done), yOf(value)];
      }).filter(Boolean);
      const last = spots.at(-1);
      spots.push([right, last[1]]);
      const d = spots.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`);
      svg.append(draw("path", { class: "curve", "data-format": name, d: d.join(""),
        "stroke-dasharray": DASHES[name] }));
      labels.push({ name, y: last[1] + 4 });
    }
    // Labels at the ends of the curves, pushed apart where they would overlap.
    labels.sort((one, other) => one.y - other.y);
    labels.forEach((label, index) => {
      if (index) label.y = Math.max(label.y, labels[index - 1].y + 13);
    });
    const over = Math.max(0, labels.at(-1).y - bottom - 4);
    labels.reverse().reduce((below, label) => {
      label.y = Math.min(label.y - (over && below === Infinity ? over : 0), below - 13);
      svg.append(text(right + 6, label.y, label.name));
      return label.y;
    }, Infinity);
  }

  return { element: svg, update };
}
