import { NumberInput } from '@mantine/core';
import { MAX_KEPT_SECONDS } from '#contract/kept-seconds.js';

const HOUR_S = 3_600;

interface LifetimeFieldProps {
  /** Props that bind it to its form field, which is in hours; blank = the default. */
  readonly field: object;
  /** Whose default applies to a blank field. */
  readonly usual: 'account' | 'installation';
}

/** After how many hours tasks are deleted. */
export function LifetimeField({ field, usual }: LifetimeFieldProps) {
  const blank = usual === 'account' ? 'the account default' : 'as long as the installation keeps them';
  return (
    <NumberInput
      label="Delete tasks after (hours)"
      description={`With prompt and images, counted from the request. Blank = ${blank}`}
      min={0.1}
      max={MAX_KEPT_SECONDS / HOUR_S}
      decimalScale={2}
      {...field}
    />
  );
}

/** A lifetime in seconds as the field has it. */
export function hoursOf(seconds: number | null | undefined): number | '' {
  return typeof seconds === 'number' ? Math.round((seconds / HOUR_S) * 100) / 100 : '';
}

/** What the field has, in seconds. */
export function secondsOf(hours: number | string): number | null {
  return hours === '' ? null : Math.round(Number(hours) * HOUR_S);
}
