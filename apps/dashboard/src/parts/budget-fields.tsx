import { NumberInput, Select } from '@mantine/core';

interface BudgetFieldsProps {
  /** What ties each to its field of the form. */
  readonly budget: object;
  readonly period: object;
}

/** How much may be spent, and in what time. */
export function BudgetFields({ budget, period }: BudgetFieldsProps) {
  return (
    <>
      <NumberInput
        label="Budget"
        placeholder="No limit"
        prefix="$"
        min={0}
        decimalScale={6}
        thousandSeparator=","
        {...budget}
      />
      <Select
        label="Budget counts"
        allowDeselect={false}
        data={[
          { value: 'month', label: 'per month' },
          { value: 'total', label: 'in total' },
        ]}
        {...period}
      />
    </>
  );
}
