// What rules out a cause, as in clinic/elimination.py: readings of another kind with its patient.
export const against = (patient, other, asked) => asked.filter((instrument) =>
  patient.readings[instrument].kind !== other.readings[instrument].kind);
