// InstrumentPanel: a patient's symptom, instruments at a price in minutes, and the causes left.

import { draw, make, makeChips, setAttributes, setChildren, setOne, setText } from "./dom.mjs";
import { explore } from "./drawing.mjs";
import { against } from "./elimination.mjs";
import { makePicture, scaleLinear, through, trace, write } from "./plot.mjs";
import { numberText, plural } from "./words.mjs";

const [WIDE, TALL] = [320, 180]; // units of the drawing, which is as wide as its column
const note = (text) => make("p.note", text);

// A patient's loss and that of the same run, cured; a cross where it is no longer a number.
function drawLosses({ loss, healthy }, width, height, pad) {
  const known = [...loss, ...healthy].filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = scaleLinear(0, healthy.length - 1, pad, width - pad);
  const y = scaleLinear(low, high, height - pad, pad);
  const line = (values) =>
    through(values.map((value, at) => (value === null ? null : [x(at), y(value)])));
  const cross = `m${-pad / 2},${-pad / 2}l${pad},${pad}m0,${-pad}l${-pad},${pad}`;
  const crosses = loss.map((value, at) =>
    (value === null && loss[at - 1] !== null ? `M${x(at)},${pad}${cross}` : ""));
  return [trace("healthy", line(healthy)), trace("loss", line(loss)),
    trace("lost", crosses.join(""))];
}

function describe(loss) {
  const ends = [loss[0], loss.at(-1)].map((value) => (value === null ? "NaN" : numberText(value)));
  const lost = loss.indexOf(null);
  return `from ${ends.join(" to ")}`
    + (lost > 0 ? `, NaN after ${Math.round((100 * lost) / loss.length)} % of the run` : "");
}

// A toolbar of cards, each with a name and a line below it.
const makeCards = (label, names, act) => makeChips(label, names.map((name, at) =>
  [[make("b", name), make("span")], () => act(at)]), "card");

function buildPanel({ instruments, patients }, set) {
  const files = patients.map(() => ({ asked: [], words: "" }));
  const state = { at: 0, file: files[0] }; // a patient's number, and what was done
  const keys = Object.keys(instruments); // by their price
  const causes = [...patients].sort((a, b) => (a.diagnosis < b.diagnosis ? -1 : 1));
  const nameOf = (key) => instruments[key].name;
  const priceOf = (asked) =>
    plural(asked.reduce((sum, key) => sum + instruments[key].minutes, 0), "minute");
  const [symptom, sentence, answer] = ["symptom", "sentence", "answer"].map((name) =>
    make(`p.${name}`));
  const plot = setAttributes(makePicture("plot"), { viewBox: `0 0 ${WIDE} ${TALL}` });

  const room = makeChips("patients", patients.map((patient, at) => [[
    draw("svg.small", { viewBox: "0 0 48 28", "aria-hidden": "true" },
      ...drawLosses(patient, 48, 28, 4)), make("span", `patient ${at + 1}`)],
  () => set({ at, file: files[at] })]));
  const tools = makeCards("instruments", keys.map(nameOf), (index) => {
    const { file } = state;
    const others = file.asked.filter((key) => key !== keys[index]);
    const asked = others.length < file.asked.length ? others : [...others, keys[index]];
    set({ file: Object.assign(file, { asked, words: "" }) });
  });
  const answers = makeCards("causes", causes.map(({ diagnosis }) => diagnosis), (index) => {
    const { at, file } = state;
    set({ file: Object.assign(file, { words: judge(patients[at], causes[index], file.asked) }) });
  });

  function judge(patient, other, asked) {
    const [[read], [would]] = [asked, keys].map((list) => against(patient, other, list));
    if (other === patient) {
      const rivals = patients.filter((one) => !against(patient, one, asked).length).length - 1;
      const proof = `${patient.cheapest.map(nameOf).join(", ")} (${priceOf(patient.cheapest)})`;
      return `Yes: ${patient.diagnosis}. ${patient.cure} `
        + (rivals ? `You took ${priceOf(asked)}, and ${plural(rivals, "other cause")} still `
          + `${rivals > 1 ? "fit" : "fits"}. To be certain: ${proof}.`
          : `You took ${priceOf(asked)}, and no other cause fits. `
            + `Enough would have been: ${proof}.`);
    }
    if (!would) return `No instrument tells this from “${patient.diagnosis}”.`;
    return read ? `No. ${nameOf(read)} reads “${patient.readings[read].text}” here, and with `
      + `“${other.diagnosis}” it reads “${other.readings[read].text}”.`
      : `No, though nothing that you read speaks against it. What would: ${nameOf(would)}.`;
  }

  function look() {
    const { at, file: { asked, words } } = state;
    const patient = patients[at];
    const out = causes.map((cause) => against(patient, cause, asked)[0]);
    setChildren(plot, [...drawLosses(patient, WIDE, TALL, 14), write(WIDE / 2, TALL - 4, "step")]);
    setOne(plot, "aria-label",
      `Loss ${describe(patient.loss)}; cured, ${describe(patient.healthy)}.`);
    setText(symptom, patient.symptom);
    setText(sentence, `${plural(asked.length, "instrument")}, ${priceOf(asked)}: `
      + `${out.filter((by) => !by).length} of ${plural(patients.length, "cause")} fit.`);
    setText(answer, words);
    room.chips.forEach((chip, number) => {
      setOne(chip, "aria-pressed", number === at);
      setOne(chip, "data-known", files[number].words.startsWith("Yes") ? "yes" : null);
    });
    tools.chips.forEach((card, index) => {
      const [key, open] = [keys[index], asked.includes(keys[index])];
      setOne(card, "aria-pressed", open);
      setText(card.lastChild, open ? patient.readings[key].text : priceOf([key]));
    });
    answers.chips.forEach((card, index) => {
      const by = out[index];
      setOne(card, "data-out", by ? "yes" : null);
      setText(card.lastChild, by ? `ruled out: ${nameOf(by)} would read `
        + `“${causes[index].readings[by].text}”` : "");
    });
    const newest = asked.length ? patient.readings[asked.at(-1)].text : patient.symptom;
    return words || `${newest} ${sentence.textContent}`;
  }
  const parts = [room.element,
    make("div.case",
      make("div", plot, note("Thick: loss. Thin: the same run, cured. ✕: not a number.")),
      make("div", symptom, note("Instruments: press to read one, again to put it away."),
        tools.element, sentence)),
    note("Causes: name one. What fits, fits among these."), answer, answers.element];
  return { state, parts, look };
}

explore("panel", CSS, buildPanel);
