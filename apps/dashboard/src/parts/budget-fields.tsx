import { NumberInput, Select } from '@mantine/core';
import { useSession } from '../api/queries.ts';
import { currencySign } from './format.ts';

interface BudgetFieldsProps {
  /** Props that bind each input to its form field. */
  readonly budget: object;
  readonly period: object;
}

/** The amount and the period of a budget. */
export function BudgetFields({ budget, period }: BudgetFieldsProps) {
  const { currency } = useSession();
  return (
    <>
      <NumberInput
        label="Budget"
        placeholder="No limit"
        prefix={currencySign(currency)}
        min={0}
        decimalScale={6}
        thousandSeparator=","
        {...budget}
      />
      <Select
        label="Resets"
        allowDeselect={false}
        data={[
          { value: 'month', label: 'Monthly' },
          { value: 'total', label: 'Never (total)' },
        ]}
        {...period}
      />
    </>
  );
}
