import { NumberInput } from '@mantine/core';

/** Hours. */
export const USUAL_OVERLAP = 24;
const MAX_OVERLAP = 24 * 30;

interface OverlapFieldProps {
  readonly label: string;
  /** Empty while the user types. */
  readonly hours: number | string;
  readonly onChange: (hours: number | string) => void;
}

/** What happens to the old secret after the entered hours. */
export function overlapSentence(hours: number | string): string {
  if (hours === '') return 'Choose how long the old secret keeps working.';
  if (Number(hours) === 0) return 'The old secret stops working immediately.';
  const span = Number(hours) === 1 ? '1 hour' : `${hours} hours`;
  return `The old secret keeps working for ${span}, so you can update your apps without an outage.`;
}

/** How long the old secret keeps working next to the new one. */
export function OverlapField({ label, hours, onChange }: OverlapFieldProps) {
  return (
    <NumberInput
      label={label}
      description="0 = stops working immediately"
      required
      min={0}
      max={MAX_OVERLAP}
      allowDecimal={false}
      value={hours}
      onChange={onChange}
    />
  );
}
