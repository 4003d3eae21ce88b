import { Box, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { amountIn } from '#contract/money.js';
import { keysQuery, useMay, useSession } from '../../api/queries.ts';
import { ownAccountQuery } from '../../api/team-queries.ts';
import type { ApiKey, Spent } from '../../api/types.ts';
import { budgetEnd, monthForecast } from '../../parts/forecast.ts';
import { dayOf, unpriced } from '../../parts/format.ts';
import { Spend } from '../../parts/spend.tsx';

interface UsageBudgetsProps {
  /** The first day with data; null if there is none yet. */
  readonly since: string | null;
}

/** The forecast for this month, and how long budgets will last. */
export function UsageBudgets({ since }: UsageBudgetsProps) {
  const { currency } = useSession();
  const may = useMay();
  const account = useQuery({ ...ownAccountQuery, enabled: may('budgets.read') });
  const keys = useQuery({ ...keysQuery, enabled: may('keys.read') });
  const budgets = (keys.data?.data ?? []).filter(({ budget, revoked_at: end }) => budget !== null && end === null);
  if (account.data === undefined && budgets.length === 0) return null;
  /** Start of the data, which is daily: the first day with data, or the creation time if that is later. */
  const first = (created: string): number => (since === null ? Infinity : latest(since, created));
  return (
    <Box className="surface" component="section" aria-label="Budgets" miw={0}>
      <Title order={2} fz="sm" fw={600} p="lg" pb={0}>
        This month and budgets
      </Title>
      <Table.ScrollContainer minWidth={480}>
        <Table horizontalSpacing="lg" verticalSpacing="xs" className="card-rows" __vars={{ '--card-cell': '130px' }}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>For</Table.Th>
              <Table.Th>Spent</Table.Th>
              <Table.Th>Forecast</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {account.data !== undefined && (
              <Table.Tr>
                <Table.Td>This account</Table.Td>
                <Table.Td data-name="Spent">
                  <Spend budget={account.data.budget} spend={account.data.spend} />
                </Table.Td>
                <Table.Td data-name="Forecast">
                  <Forecast
                    budget={account.data.budget}
                    month={account.data.spend}
                    first={first(account.data.created_at)}
                    currency={currency}
                  />
                </Table.Td>
              </Table.Tr>
            )}
            {budgets.map((key) => (
              <Table.Tr key={key.id}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>Key {key.name}</Table.Td>
                <Table.Td data-name="Spent">
                  <Spend budget={key.budget} spend={key.spend} />
                </Table.Td>
                <Table.Td data-name="Forecast">
                  <Forecast
                    budget={key.budget}
                    first={first(originOf(key, keys.data?.data ?? []).created_at)}
                    currency={currency}
                  />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Box>
  );
}

interface ForecastProps {
  readonly budget: ApiKey['budget'];
  /** The spend of this month; absent if only a monthly budget has it. */
  readonly month?: Spent;
  /** Time of the first data, in ms. */
  readonly first: number;
  readonly currency: string;
}

function Forecast({ budget, month, first, currency }: ForecastProps) {
  const now = Date.now();
  const isMonthly = budget?.period === 'month';
  const spent = isMonthly ? Number(budget.spent) : month === undefined ? undefined : Number(month.amount);
  const rest = isMonthly || month === undefined ? '' : unpriced(month);
  const forecast = spent === undefined ? undefined : monthForecast(spent, first, now);
  if (spent === undefined || forecast === undefined)
    return (
      <Text size="sm" c="dimmed">
        {spent === undefined ? 'No forecast for total budgets' : 'Not enough data yet'}
      </Text>
    );
  if (rest !== '' && spent === 0)
    return (
      <Text size="sm" c="dimmed">
        Unknown
      </Text>
    );
  const limit = isMonthly ? Number(budget.amount) : undefined;
  const end = limit === undefined ? undefined : budgetEnd(spent, limit, first, now);
  return (
    <Text size="sm" className="numbers">
      {amountIn(forecast.toFixed(2), currency)} by the end of the month
      {rest !== '' && ', not including requests without a price'}
      {limit !== undefined && spent >= limit && ', but the budget is used up'}
      {end !== undefined && `, but the budget is used up on ${dayOf(new Date(end).toISOString())}`}
    </Text>
  );
}

function latest(...times: readonly string[]): number {
  return Math.max(...times.map((time) => Date.parse(time)));
}

/** The key that this one replaced, and that one before: they share one budget. */
function originOf(key: ApiKey, keys: readonly ApiKey[]): ApiKey {
  const before = keys.find(({ replaced_by: successor }) => successor === key.id);
  return before === undefined ? key : originOf(before, keys);
}
