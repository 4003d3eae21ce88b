import { IntegerField } from '#contract/field.js';

const MAX_LIMIT = 1_000_000_000;
const MAX_WEIGHT = 100;

/** A limit of a key or an account: 0 = unlimited, null = the default. */
export const LimitField = () =>
  IntegerField({ optional: true, nullable: true, min: 0, max: MAX_LIMIT, wording: 'library' });

/** A weight in the fair queue; null = 1. */
export const WeightField = () =>
  IntegerField({ optional: true, nullable: true, min: 1, max: MAX_WEIGHT, wording: 'library' });
