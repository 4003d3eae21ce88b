import { Box, Group, Progress, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { providersQuery, type Provider } from '../../api/operation.ts';
import { CallStrip } from '../../parts/call-strip.tsx';
import { callsText, lastFailureText } from '../../parts/call-words.ts';
import { fullTime, secondsLeft } from '../../parts/format.ts';
import { IconServer } from '@tabler/icons-react';
import { Empty, Trouble } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { DrainButton, ResumeButton, TryButton } from './provider-actions.tsx';
import { healthOf } from './provider-health.ts';
import { TestButton } from './provider-test.tsx';

/** A card for each provider. */
export function Providers() {
  const { data, error, refetch } = useQuery(providersQuery);
  return (
    <Stack component="section" gap="sm" aria-labelledby="providers">
      <Title order={2} fz="lg" id="providers">
        Providers
      </Title>
      {error !== null && <Trouble error={error} doing="Could not load providers" onRetry={() => void refetch()} />}
      {error === null && data === undefined && <Skeleton height={220} radius="lg" />}
      {error === null && data?.data.length === 0 && (
        <Box className="surface">
          <Empty icon={<IconServer size={36} />} title="No providers">
            Add a provider and its models to the catalog.
          </Empty>
        </Box>
      )}
      {error === null && data !== undefined && (
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          {data.data.map((provider) => (
            <ProviderCard key={provider.name} provider={provider} />
          ))}
        </SimpleGrid>
      )}
    </Stack>
  );
}

function ProviderCard({ provider }: { readonly provider: Provider }) {
  const { name, type, models, calls, concurrency, starts, starts_per_minute: mostStarts, drained } = provider;
  const { last_hour: hour } = provider;
  const health = healthOf(provider);
  return (
    <Box className="surface" p="lg" component="article" aria-label={name} miw={0}>
      <Stack gap="md" h="100%">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <Box miw={0}>
            <Title order={3} fz="md" style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Title>
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {[type, ...models].filter((text) => text !== null).join(' · ')}
            </Text>
          </Box>
          <State label={health.label} color={health.color} />
        </Group>
        <Text
          size="sm"
          style={{ overflowWrap: 'anywhere' }}
          {...(drained === null ? {} : { title: fullTime(drained.since) })}
        >
          {health.why}
        </Text>
        <Keys provider={provider} />
        <Servers provider={provider} />
        <SimpleGrid cols={2} spacing="md">
          <Load name="Running now" count={calls} most={concurrency} />
          <Load name="Started this minute" count={starts} most={mostStarts} />
        </SimpleGrid>
        <CallStrip name={name} calls={hour} />
        <Models provider={provider} />
        {hour.last_failure !== null && (
          <Text size="sm" title={fullTime(hour.last_failure.at)} style={{ overflowWrap: 'anywhere' }}>
            {lastFailureText(hour)}
          </Text>
        )}
        <Group gap="xs" mt="auto">
          {isPaused(provider) && <TryButton name={name} />}
          {provider.trials.length > 0 && <TestButton provider={provider} />}
          {drained === null ? <DrainButton name={name} /> : <ResumeButton name={name} />}
        </Group>
      </Stack>
    </Box>
  );
}

/** Its servers, if it has a list of them. */
function Servers({ provider }: { readonly provider: Provider }) {
  const servers = provider.servers.filter(({ name }) => name !== null);
  if (servers.length === 0) return null;
  return (
    <Stack gap="xs" aria-label={`Servers of ${provider.name}`}>
      {servers.map((server) => {
        const id = `${provider.name}/${server.name}`;
        const health = healthOf({ ...provider, ...server, name: id });
        const { calls, concurrency, starts, starts_per_minute: most, region } = server;
        const facts = [
          region,
          `${calls}${concurrency === null ? '' : `/${concurrency}`} running`,
          `${starts}${most === null ? '' : `/${most}`} this minute`,
        ].filter((fact) => fact !== null);
        return (
          <Group key={id} justify="space-between" wrap="nowrap" gap="xs">
            <Box miw={0}>
              <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
                {server.name}
              </Text>
              <Text size="xs" c="dimmed" className="numbers">
                {facts.join(' · ')}
              </Text>
              <Text size="xs" c="dimmed" className="numbers">
                {callsText(server.last_hour)}
              </Text>
            </Box>
            <Group gap="xs" wrap="nowrap">
              <State label={health.label} color={health.color} />
              {isPaused(server) && <TryButton name={id} />}
              {server.drained === null ? <DrainButton name={id} /> : <ResumeButton name={id} />}
            </Group>
          </Group>
        );
      })}
    </Stack>
  );
}

function Keys({ provider: { resting_keys: resting, unset_keys: unset } }: { readonly provider: Provider }) {
  if (resting.length === 0 && unset.length === 0) return null;
  return (
    <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
      {[
        ...resting.map(({ key, rests_ms: ms }) => {
          const left = secondsLeft(ms);
          return key === ''
            ? `Its key is refused or at its limit; paused for ${left}.`
            : `Key ${key} is refused or at its limit; paused for ${left}.`;
        }),
        ...unset.map((key) => `Key ${key} is not set on the API.`),
      ].join(' ')}
    </Text>
  );
}

interface LoadProps {
  readonly name: string;
  readonly count: number;
  readonly most: number | null;
}

function Load({ name, count, most }: LoadProps) {
  return (
    <Box>
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text fw={600} className="numbers">
        {count}
        {most !== null && (
          <Text span size="sm" c="dimmed">
            {' '}
            of {most}
          </Text>
        )}
      </Text>
      {most !== null && (
        <Progress value={Math.min(100, (count / Math.max(1, most)) * 100)} size="xs" mt={4} aria-label={name} />
      )}
    </Box>
  );
}

/** Whether "Try now" has something to end. */
function isPaused({ breaker, resting_keys: resting, drained }: Pick<Provider, 'breaker' | 'resting_keys' | 'drained'>) {
  return drained === null && (breaker !== 'closed' || resting.length > 0);
}

/** Which models fail, if there are several. */
function Models({ provider: { last_hour: hour } }: { readonly provider: Provider }) {
  const failing = hour.models.filter(({ failed }) => failed > 0);
  if (hour.models.length < 2 || failing.length === 0) return null;
  const texts = failing.map(({ model, calls, failed }) => `${model} ${failed} of ${calls}`);
  return (
    <Text size="sm" c="dimmed" className="numbers" style={{ overflowWrap: 'anywhere' }}>
      Failed by model: {texts.join(', ')}.
    </Text>
  );
}
