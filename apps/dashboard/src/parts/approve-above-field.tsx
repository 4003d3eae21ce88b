import { NumberInput } from '@mantine/core';
import { useSession } from '../api/queries.ts';
import { currencySign } from './format.ts';

interface ApproveAboveFieldProps {
  /** Props that bind it to its form field. */
  readonly field: object;
  /** What a blank field means. */
  readonly blank: string;
}

/** What a request may cost without an approval. */
export function ApproveAboveField({ field, blank }: ApproveAboveFieldProps) {
  const { currency } = useSession();
  return (
    <NumberInput
      label="Approval above"
      description={`Requests that may cost more wait until an owner or admin approves them; 0 = every paid request. Blank = ${blank}`}
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      prefix={currencySign(currency)}
      min={0}
      decimalScale={6}
      thousandSeparator=","
      {...field}
    />
  );
}
