import { Box, Button, Group, Stack, Table, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { ALERT_VIEWS, type AlertChannel, type AlertRule } from '../../api/alerts.ts';
import { send } from '../../api/request.ts';
import { ALERT_NAMES, ruleSentence } from '../../parts/alert-words.ts';
import { HiddenHead } from '../../parts/hidden-head.tsx';
import { Rows, Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { State } from '../../parts/state.tsx';
import { AlertRuleForm } from './alert-rule-form.tsx';
import { useSave } from '../../parts/use-save.ts';

interface RulesProps {
  readonly query: UseQueryResult<{ readonly data: readonly AlertRule[] }>;
  readonly channels: readonly AlertChannel[];
}

/** All kinds of alerts, each with a switch. */
export function AlertRules({ query: { data, error, refetch }, channels }: RulesProps) {
  const [edited, setEdited] = useState<AlertRule | null>(null);
  return (
    <Stack component="section" gap="md" aria-label="Rules">
      <SectionTitle about="What to watch for, and at what threshold.">Rules</SectionTitle>
      {error !== null && <Trouble error={error} doing="Could not load rules" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {data === undefined && <Rows count={2} />}
          {data !== undefined && (
            <Table.ScrollContainer minWidth={300}>
              <Table horizontalSpacing="md" className="card-rows">
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Alert</Table.Th>
                    <Table.Th>Status</Table.Th>
                    <HiddenHead w={160}>Actions</HiddenHead>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {data.data.map((rule) => (
                    <RuleRow key={rule.kind} rule={rule} channels={channels} onEdit={() => setEdited(rule)} />
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )}
        </Box>
      )}
      {edited !== null && <AlertRuleForm rule={edited} channels={channels} onClose={() => setEdited(null)} />}
    </Stack>
  );
}

interface RowProps {
  readonly rule: AlertRule;
  readonly channels: readonly AlertChannel[];
  readonly onEdit: () => void;
}

function RuleRow({ rule, channels, onEdit }: RowProps) {
  const { kind, enabled } = rule;
  const name = ALERT_NAMES[kind];
  const flip = useSave({
    send: () => send('PUT', `/alerts/rules/${kind}`, { enabled: !enabled }),
    stale: ALERT_VIEWS,
    failed: 'Could not change the alert',
  });
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm">{name}</Text>
        <Text size="xs" c="dimmed">
          {ruleSentence(rule)} {enabled && whereTo(rule, channels)}
        </Text>
      </Table.Td>
      <Table.Td data-name="Status">
        <State {...(enabled ? { label: 'On', color: 'green' } : { label: 'Off', color: 'gray' })} />
      </Table.Td>
      <Table.Td className="card-rest">
        <Group gap="xs" justify="flex-end" wrap="nowrap">
          <Button size="xs" variant="default" aria-label={`Edit ${name}`} onClick={onEdit}>
            Edit
          </Button>
          <Button
            size="xs"
            variant="default"
            aria-label={`Turn ${enabled ? 'off' : 'on'} ${name}`}
            aria-busy={flip.isPending}
            // Stays enabled meanwhile: a disabled button would lose the focus.
            onClick={() => {
              if (!flip.isPending) flip.mutate();
            }}
          >
            {enabled ? 'Turn off' : 'Turn on'}
          </Button>
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

function whereTo({ channels: chosen }: AlertRule, channels: readonly AlertChannel[]): string {
  if (channels.length === 0) return 'Shown only in the console, because there is no channel yet.';
  if (chosen.length === 0) return channels.length === 1 ? 'Sent to your channel.' : 'Sent to all channels.';
  return `Sent to ${chosen.length} of ${channels.length} channels.`;
}
