// What the readings of a patient leave of the causes, as in diagnosis.py.

const differ = (one, other, instrument) =>
  one.readings[instrument].kind !== other.readings[instrument].kind;

// The instruments of a list that read otherwise with another patient's cause.
export const against = (patient, other, asked) =>
  asked.filter((instrument) => differ(patient, other, instrument));

// The causes that are ruled out, with the first instrument that did: a Map of patients' keys.
export const struck = (patients, patient, asked) => new Map(patients.flatMap((other) => {
  const [first] = against(patient, other, asked);
  return first === undefined ? [] : [[other.key, first]];
}));
