import { Box, Button, Stack, Text } from '@mantine/core';
import { waitingText, type WaitingReason } from '#contract/waiting.js';
import { amountIn } from '#contract/money.js';
import type { Quote } from '../../api/quotes.ts';
import { whileBusy } from '../../parts/busy.tsx';

import { singleClick } from '../../parts/single-click.ts';

/** Id of the order button. */
export const ORDER_ID = 'order';

interface OrderButtonProps {
  readonly label: string;
  /** Price and estimated time; empty while unknown. */
  readonly terms: string;
  /** The terms still belong to the previous input. */
  readonly outdated?: boolean;
  readonly quotes: readonly (Quote | undefined)[];
  readonly busy: boolean;
  readonly disabled: boolean;
}

/** Orders images, with the price next to it. */
export function OrderButton({ label, terms, outdated = false, quotes, busy, disabled }: OrderButtonProps) {
  const waits = [...new Set(quotes.flatMap((quote) => quote?.waiting ?? []).map((reason) => willWait(reason)))];
  const short = quotes.find((quote) => quote?.within_budget === false);
  return (
    <Stack gap={6}>
      <Button id={ORDER_ID} type="submit" size="md" {...whileBusy(busy, disabled)} {...singleClick}>
        {label}
        {terms !== '' && (
          <Text span ml={10} fz="sm" fw={450} className="numbers" style={outdated ? { visibility: 'hidden' } : {}}>
            {terms}
          </Text>
        )}
      </Button>
      <Box role="status">
        {waits.map((text) => (
          <Text key={text} size="sm" style={{ overflowWrap: 'anywhere' }}>
            {text}
          </Text>
        ))}
      </Box>
      {short !== undefined && short.budget_left !== null && (
        <Text size="sm" c="var(--mantine-color-error)">
          Over budget:{' '}
          {Number(short.budget_left) > 0
            ? `only ${amountIn(short.budget_left, short.cost.currency)} left`
            : 'nothing left'}
          .
        </Text>
      )}
    </Stack>
  );
}

/** "Your image will wait for studio: drained by an operator." */
function willWait(reason: WaitingReason): string {
  return `Your image will wait${waitingText(reason).slice('Waiting'.length)}.`;
}
