import { Box, Code, Group, Stack, Table, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { BusyButton } from '../../parts/busy.tsx';
import { send } from '../../api/request.ts';
import { payloadQuery, WEBHOOK_VIEWS, type WebhookDelivery } from '../../api/webhooks.ts';
import { CodeBlock } from '../../parts/copy.tsx';
import { clockTime, duration, fromNow, fullTime } from '../../parts/format.ts';
import { IconRefresh } from '@tabler/icons-react';
import { Trouble } from '../../parts/page.tsx';
import { State } from '../../parts/state.tsx';
import { attemptOutcome, deliveryLook, eventName, failuresOf, timesOf } from '../../parts/webhook-words.ts';
import { useSave } from '../../parts/use-save.ts';

/** One delivery, expandable to its attempts. */
export function DeliveryRow({ delivery }: { readonly delivery: WebhookDelivery }) {
  const [opened, { toggle }] = useDisclosure(false);
  const { id, event, url, created_at: createdAt } = delivery;
  return (
    <Box className="list-row" data-delivery={id}>
      <UnstyledButton
        className="row-button delivery"
        aria-expanded={opened}
        aria-controls={`${id}-details`}
        onClick={toggle}
      >
        <Box w={{ sm: 84 }} flex="none" className="delivery-state">
          <State {...deliveryLook(delivery)} />
        </Box>
        <Box flex={1} miw={0}>
          <Text size="sm">{eventName(event)}</Text>
          <Text size="xs" c="dimmed" truncate="end">
            {url ?? 'Removed endpoint'}
          </Text>
        </Box>
        <Box className="delivery-when">
          <Text size="sm" className="nowrap" title={fullTime(createdAt)}>
            {fromNow(createdAt)}
          </Text>
          <Text size="xs" c="dimmed">
            {summaryOf(delivery)}
          </Text>
        </Box>
      </UnstyledButton>
      <Box id={`${id}-details`}>{opened && <Details delivery={delivery} />}</Box>
    </Box>
  );
}

function Details({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { id, task_id: task, endpoint_id: endpoint, url, attempts, next_try_at: next } = delivery;
  const resend = useSave({
    send: () => send('POST', `/webhooks/deliveries/${id}/resend`),
    stale: WEBHOOK_VIEWS,
    done: 'Resending now.',
  });
  const underWay = attempts.at(-1)?.duration_ms === null && next !== null;
  return (
    <Stack gap="sm" px="md" pb="md">
      {attempts.length > 0 && <Attempts delivery={delivery} />}
      {next !== null && (
        <Text size="sm" title={fullTime(next)}>
          {underWay ? 'Sending now.' : `Next attempt ${soon(next)}.`}
        </Text>
      )}
      <dl className="facts">
        <dt>Task</dt>
        <dd>
          {task === null ? (
            'None (test)'
          ) : (
            <Link to="/tasks/$id" params={{ id: task }} className="text-link">
              {task}
            </Link>
          )}
        </dd>
        <dt>Sent to</dt>
        <dd>
          {url ?? (endpoint === null ? 'callback_url of a removed task' : 'Removed endpoint')}
          {endpoint === null && url !== null && ' (callback_url)'}
        </dd>
        <dt>webhook-id</dt>
        <dd>
          <Code>{(task ?? id).replace(/^(task|whd)_/, 'evt_')}</Code>
        </dd>
      </dl>
      <Payload id={id} />
      {resend.error !== null && <Trouble error={resend.error} doing="Could not resend the delivery" />}
      <Group>
        <BusyButton
          size="xs"
          variant="default"
          leftSection={<IconRefresh size={14} />}
          busy={resend.isPending}
          disabled={underWay}
          onClick={() => resend.mutate()}
        >
          {next === null ? 'Resend' : 'Send now'}
        </BusyButton>
      </Group>
    </Stack>
  );
}

/** The payload. It is not stored, so this shows what the next attempt would send. */
function Payload({ id }: { readonly id: string }) {
  const [opened, { toggle }] = useDisclosure(false);
  const { data, error } = useQuery({ ...payloadQuery(id), enabled: opened });
  return (
    <Box>
      <UnstyledButton className="fold" aria-expanded={opened} onClick={toggle}>
        {opened ? 'Hide payload' : 'Show payload'}
      </UnstyledButton>
      {opened && error !== null && <Trouble error={error} doing="Could not load the payload" />}
      {opened && data !== undefined && (
        <Stack gap={4} mt="xs">
          <CodeBlock code={JSON.stringify(data, null, 2)} label="payload" />
          <Text size="xs" c="dimmed">
            Each attempt sends new image links.
          </Text>
        </Stack>
      )}
    </Box>
  );
}

function Attempts({ delivery: { attempts, status } }: { readonly delivery: WebhookDelivery }) {
  return (
    <Table.ScrollContainer minWidth={280}>
      <Table verticalSpacing={6} aria-label="Attempts">
        <Table.Thead>
          <Table.Tr>
            <Table.Th w={48}>#</Table.Th>
            <Table.Th>Outcome</Table.Th>
            <Table.Th ta="right">Duration</Table.Th>
            <Table.Th ta="right">Started</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {attempts.map((attempt) => (
            <Table.Tr key={attempt.number}>
              <Table.Td className="numbers">{attempt.number}</Table.Td>
              <Table.Td>
                {attemptOutcome(attempt, status === 'pending' && attempt === attempts.at(-1))}
                {attempt.answer !== null && <Code className="answer">{attempt.answer}</Code>}
              </Table.Td>
              <Table.Td ta="right" className="numbers nowrap">
                {attempt.duration_ms === null ? '–' : duration(attempt.duration_ms)}
              </Table.Td>
              <Table.Td ta="right" className="nowrap" title={fullTime(attempt.started_at)}>
                {fromNow(attempt.started_at)}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function summaryOf({ attempts, next_try_at: next }: WebhookDelivery): string {
  const failures = failuresOf(attempts);
  if (next !== null && failures > 0) return `Failed ${timesOf(failures)}, next try ${atTime(next)}`;
  const tries = `${attempts.length} ${attempts.length === 1 ? 'attempt' : 'attempts'}`;
  return next === null || attempts.length === 0 ? tries : `${tries}, next ${soon(next)}`;
}

/** "at 6:20 AM", or "in a moment". */
function atTime(time: string): string {
  return Date.parse(time) - Date.now() < 60_000 ? 'in a moment' : `at ${clockTime(time)}`;
}

function soon(time: string): string {
  return Date.parse(time) - Date.now() < 60_000 ? 'in a moment' : fromNow(time);
}
