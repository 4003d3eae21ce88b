/** What can't be told from here, and is no failure; its message says what to look at instead. */
export class Inconclusive extends Error {}
