/** A check that can't decide from here and is not a failure; the message says what to check instead. */
export class Inconclusive extends Error {}
