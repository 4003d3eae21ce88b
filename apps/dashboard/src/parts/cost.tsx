import { Box, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSession } from '../api/queries.ts';
import type { Money, Spent } from '../api/types.ts';
import { money, spent, unpriced } from './format.ts';

/** Why a cost is unknown. */
export const NO_PRICE = 'No price is set for this model';

/** The cost of one task: "$0.04", "Free", or that its model has no price. */
export function Cost({ cost }: { readonly cost: Money | null }) {
  return cost?.amount === null ? <ToPrices>No price set</ToPrices> : money(cost);
}

interface SpentSumProps {
  readonly sum: Spent;
  /** On the same line as the amount; absent: on a separate line. */
  readonly inline?: boolean;
}

/** The total cost of several tasks: "$1.20", and what it leaves out, as "+ 3 images without a price". */
export function SpentSum({ sum, inline = false }: SpentSumProps) {
  const amount = spent(sum);
  const rest = unpriced(sum);
  return (
    <>
      <span className="numbers nowrap">{amount}</span>
      {rest !== '' && (
        <Text span={inline} fz="xs" fw={400} lh={1.4} c="dimmed" {...(inline && { ml: 4 })}>
          {amount === 'Unknown' ? '' : '+ '}
          <ToPrices>{rest}</ToPrices>
        </Text>
      )}
    </>
  );
}

/** For operators a link to the prices, for others text. */
function ToPrices({ children }: { readonly children: ReactNode }) {
  const { operator } = useSession();
  if (!operator) return children;
  return (
    <Box component={Link} to="/catalog" className="text-link in-sentence" title="Set prices">
      {children}
    </Box>
  );
}
