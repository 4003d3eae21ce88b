import { Anchor, Box, Group, List, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { usePrefetchQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { IconAlertTriangle, IconCheck } from '@tabler/icons-react';
import { lazy, Suspense, useState, type ReactNode } from 'react';
import { providersQuery } from '../../api/operation.ts';
import { keysQuery, sessionQuery, useMay, useSession } from '../../api/queries.ts';
import { latencyTodayQuery, todayQuery } from '../../api/usage.ts';
import { UNNAMED } from '../../parts/account-label.ts';
import { CallStrip } from '../../parts/call-strip.tsx';
import { Figure } from '../../parts/figure.tsx';
import { SpentSum } from '../../parts/cost.tsx';
import { duration, spentOf } from '../../parts/format.ts';
import { PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { healthOf } from '../operation/provider-health.ts';
import { FirstSteps } from './first-steps.tsx';
import { LastWeek } from './last-week.tsx';
import { LatestImages } from './latest-images.tsx';
import { useAttention, type Notice } from './use-attention.ts';

const RenameAccount = lazy(async () => ({
  default: (await import('../team/rename-account.tsx')).RenameAccount,
}));

/** Refresh interval of the session while the page is visible. */
const REFRESH_MS = 15_000;

/** The start page: remaining setup steps, what needs attention, today's figures, the latest images, and the last week. */
export function OverviewPage() {
  const { account } = useSession();
  const may = useMay();
  useQuery({ ...sessionQuery, refetchInterval: REFRESH_MS });
  // Loaded first: the setup steps depend on keys, and would shift the page if they appeared later.
  const keys = useQuery({ ...keysQuery, enabled: may('keys.manage') });
  usePrefetchQuery(todayQuery());
  return (
    <PageFrame
      title="Overview"
      about={account.name === UNNAMED && may('account.manage') ? <NameAccount /> : account.name}
    >
      {keys.isLoading ? (
        <Rows />
      ) : (
        <>
          {may('keys.manage') && <FirstSteps />}
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <Attention />
            <Running />
          </SimpleGrid>
          <Today />
          <LatestImages />
          <LastWeek />
        </>
      )}
    </PageFrame>
  );
}

/** Offers to rename an account that still has the default name. */
function NameAccount() {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      Your account is called “{UNNAMED}”.{' '}
      <Anchor component="button" type="button" inherit underline="always" onClick={() => setIsOpen(true)}>
        Rename account
      </Anchor>
      <Suspense>{isOpen && <RenameAccount name={UNNAMED} onClose={() => setIsOpen(false)} />}</Suspense>
    </>
  );
}

function Today() {
  const seesAll = useMay()('tasks.read_all');
  const { data, error, refetch } = useQuery(todayQuery());
  const latency = useQuery(latencyTodayQuery());
  if (error !== null) return <Trouble error={error} doing="Could not load usage" onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton height={86} radius="lg" />;
  const { images, chats, failed, p50_ms: median } = data.total;
  const waited = latency.data?.waiting.p50_ms ?? null;
  const figures = 3 + (chats > 0 ? 1 : 0) + (median === null ? 0 : 1);
  return (
    <Box component="section" aria-label="Today, in UTC">
      <SimpleGrid cols={{ base: 2, md: figures }}>
        <Figure name="Images today (UTC)" value={images.toLocaleString('en')} />
        {chats > 0 && <Figure name="Chats today (UTC)" value={chats.toLocaleString('en')} />}
        <Figure name="Spend today (UTC)" value={<SpentSum sum={spentOf(data.total, data.currency)} />} />
        <Figure name="Failed today (UTC)" value={failed.toLocaleString('en')} />
        {median !== null && (
          <Figure
            name="Median latency today (UTC)"
            value={
              <>
                {/* Between the two, a line may end: both are too wide for a phone. */}
                <span className="nowrap">{duration(median)}</span>{' '}
                {waited !== null && (
                  <Text span fz="xs" fw={400} c="dimmed" className="nowrap">
                    waiting {duration(waited)}
                  </Text>
                )}
              </>
            }
          />
        )}
      </SimpleGrid>
      {/* These users can list only their own tasks, so this says what the figures cover. */}
      {!seesAll && (
        <Text size="xs" c="dimmed" mt={6}>
          Everyone’s requests in this account
        </Text>
      )}
    </Box>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Box className="surface" p="lg" component="section" aria-label={title} miw={0}>
      <Title order={2} fz="md" mb="sm">
        {title}
      </Title>
      {children}
    </Box>
  );
}

function Attention() {
  const notices = useAttention();
  return (
    <Section title="Needs attention">
      {notices === undefined && <Skeleton height={48} />}
      {notices?.length === 0 && (
        <List icon={<IconCheck size={18} color="var(--good)" />} size="sm" center>
          <List.Item>Nothing needs attention.</List.Item>
        </List>
      )}
      {notices !== undefined && notices.length > 0 && (
        <List icon={<IconAlertTriangle size={18} color="var(--bad)" />} size="sm" spacing="xs">
          {notices.map((notice) => (
            <NoticeItem key={notice.text} notice={notice} />
          ))}
        </List>
      )}
    </Section>
  );
}

function NoticeItem({ notice: { text, link } }: { readonly notice: Notice }) {
  return (
    <List.Item style={{ overflowWrap: 'anywhere' }}>
      <Link {...link} className="notice">
        {text}
      </Link>
    </List.Item>
  );
}

/** How each provider is doing, for those who may do something about it. */
function ProviderStates() {
  const { data } = useQuery({ ...providersQuery, refetchInterval: REFRESH_MS });
  if (data === undefined) return <Skeleton height={64} />;
  const states = data.data.map((provider) => ({ provider, health: healthOf(provider) }));
  const isWell = ({ health }: (typeof states)[number]): number => (health.color === 'green' ? 1 : 0);
  // Where something is wrong comes first.
  return states
    .toSorted((a, b) => isWell(a) - isWell(b))
    .map(({ provider, health: { label, color } }) => (
      <Box key={provider.name} component="section" aria-label={provider.name} miw={0} mb="xs">
        <Group justify="space-between" wrap="nowrap" mb={4}>
          <Text size="sm" fw={600} miw={0} style={{ overflowWrap: 'anywhere' }}>
            {provider.name}
          </Text>
          <State label={label} color={color} />
        </Group>
        <CallStrip name={provider.name} calls={provider.last_hour} />
      </Box>
    ));
}

/** The providers that generate images. */
function Running() {
  const { operator, image_providers: providers } = useSession();
  return (
    <Section title="Image providers">
      <Stack gap="xs" align="stretch">
        {providers.length === 0 ? (
          <Text size="sm">
            <b>Sandbox.</b> Images are samples that Darkroom draws itself, free of charge.
          </Text>
        ) : (
          !operator && (
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              <b>{providers.join(', ')}</b>
            </Text>
          )
        )}
        {operator && (
          <>
            <ProviderStates />
            <Group gap="md">
              <Link to="/operation" className="text-link action">
                Status and queue
              </Link>
              <Link to="/catalog" className="text-link action">
                Manage providers and models
              </Link>
            </Group>
          </>
        )}
      </Stack>
    </Section>
  );
}
