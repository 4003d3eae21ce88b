import { NumberInput } from '@mantine/core';

interface LimitFieldProps {
  /** Props that bind it to its form field. */
  readonly field: object;
  readonly label: string;
  /** The default, for a blank field; 0 = unlimited. */
  readonly usual?: number | undefined;
  /** The highest allowed value; 0 = unlimited. */
  readonly most?: number | undefined;
}

/** A limit; blank = the default, 0 = unlimited where that is allowed. */
export function LimitField({ field, label, usual, most = 0 }: LimitFieldProps) {
  return (
    <NumberInput
      label={label}
      description={meaning(usual, most)}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      min={most === 0 ? 0 : 1}
      {...(most === 0 ? {} : { max: most })}
      allowDecimal={false}
      {...field}
    />
  );
}

/** A share of the queue. */
export function WeightField({ field, others }: { readonly field: object; readonly others: string }) {
  return (
    <NumberInput
      label="Weight"
      description={`2 = twice the queue share of ${others}`}
      min={1}
      max={100}
      allowDecimal={false}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      {...field}
    />
  );
}

function meaning(usual: number | undefined, most: number): string {
  // A default above the account's limit is worth no more than that limit.
  const effective = most !== 0 && usual !== undefined && (usual === 0 || usual > most) ? most : usual;
  const blank = `Leave blank for the default${effective === undefined ? '' : ` (${effective === 0 ? 'unlimited' : effective.toLocaleString('en')})`}`;
  if (most !== 0) return `${blank}; at most ${most.toLocaleString('en')} (account limit)`;
  return usual === 0 ? blank : `${blank}; 0 = unlimited`;
}
