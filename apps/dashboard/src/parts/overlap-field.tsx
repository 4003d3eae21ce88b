import { NumberInput } from '@mantine/core';

/** Hours. */
export const USUAL_OVERLAP = 24;
const MAX_OVERLAP = 24 * 30;

interface OverlapFieldProps {
  readonly label: string;
  /** Empty while somebody types. */
  readonly hours: number | string;
  readonly onChange: (hours: number | string) => void;
}

/** How long an old secret is good beside its new one. */
export function OverlapField({ label, hours, onChange }: OverlapFieldProps) {
  return (
    <NumberInput
      label={label}
      description="0 = ends immediately"
      required
      min={0}
      max={MAX_OVERLAP}
      allowDecimal={false}
      value={hours}
      onChange={onChange}
    />
  );
}
