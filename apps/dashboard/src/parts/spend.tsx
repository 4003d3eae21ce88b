import { Progress, Stack, Text } from '@mantine/core';
import { amountIn } from '#contract/money.js';
import { useSession } from '../api/queries.ts';
import type { ApiKey } from '../api/types.ts';
import { SpentSum } from './cost.tsx';

interface SpendProps {
  readonly budget: ApiKey['budget'];
  readonly spend: ApiKey['spend'];
}

/** The spend, and its share of the budget. */
export function Spend({ budget, spend }: SpendProps) {
  const { currency } = useSession();
  if (budget === null)
    return (
      <Text component="div" size="sm">
        <SpentSum sum={spend} />
      </Text>
    );
  const share = Number(budget.amount) > 0 ? (Number(budget.spent) / Number(budget.amount)) * 100 : 100;
  return (
    <Stack gap={4} maw={200}>
      <Text size="sm" className="numbers">
        {amountIn(budget.spent, currency)} of {amountIn(budget.amount, currency)}
        {budget.period === 'month' && '/month'}
      </Text>
      <Progress value={share} size="xs" color={share >= 90 ? 'red' : 'safelight'} aria-label="Budget used" />
    </Stack>
  );
}
