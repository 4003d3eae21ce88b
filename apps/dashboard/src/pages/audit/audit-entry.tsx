import { Box, Code, Group, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import type { AuditEntry } from '../../api/audit.ts';
import { fromNow, fullTime } from '../../parts/format.ts';

/** One entry as a sentence, expandable to its details. */
export function AuditRow({ entry }: { readonly entry: AuditEntry }) {
  const [opened, { toggle }] = useDisclosure(false);
  return (
    <Box className="list-row">
      <UnstyledButton
        className="row-button"
        aria-expanded={opened}
        aria-controls={`${entry.id}-details`}
        onClick={toggle}
      >
        <Text size="sm" flex={1} miw={0} style={{ overflowWrap: 'anywhere' }}>
          <Text span inherit fw={600} {...(entry.person === null ? { c: 'dimmed' } : {})}>
            {entry.who}
          </Text>{' '}
          {entry.sentence}
        </Text>
        <Text size="sm" c="dimmed" className="nowrap" title={fullTime(entry.created_at)}>
          {fromNow(entry.created_at)}
        </Text>
      </UnstyledButton>
      <Box id={`${entry.id}-details`}>{opened && <Details entry={entry} />}</Box>
    </Box>
  );
}

function Details({ entry }: { readonly entry: AuditEntry }) {
  const { person, action, target, details, created_at: createdAt } = entry;
  const shown = Object.entries(details).filter(([, value]) => value !== null && value !== undefined);
  return (
    <Box px="md" pb="md">
      <dl className="facts">
        <dt>Time</dt>
        <dd>{fullTime(createdAt)}</dd>
        {person !== null && (
          <>
            <dt>Member</dt>
            <dd>
              {person.name} ({person.email})
            </dd>
          </>
        )}
        <dt>Action</dt>
        <dd>
          <Code>{action}</Code>
        </dd>
        {target !== null && (
          <>
            <dt>Target</dt>
            <dd>
              <Group gap="xs">
                <Code style={{ overflowWrap: 'anywhere', whiteSpace: 'normal' }}>{target}</Code>
                <TargetLink entry={entry} target={target} />
              </Group>
            </dd>
          </>
        )}
        {shown.map(([name, value]) => (
          <Detail key={name} name={name === 'url' ? 'URL' : name.replaceAll('_', ' ')} value={value} />
        ))}
      </dl>
    </Box>
  );
}

function Detail({ name, value }: { readonly name: string; readonly value: unknown }) {
  return (
    <>
      <dt className="detail-name">{name}</dt>
      <dd>{wordsOf(value)}</dd>
    </>
  );
}

/** A link to the target of the entry, while it exists. */
function TargetLink({
  entry: { action, target_exists: exists },
  target,
}: {
  readonly entry: AuditEntry;
  readonly target: string;
}) {
  if (!exists) return null;
  const kind = target.replace(/_.*$/s, '');
  if (action.startsWith('provider.'))
    return (
      <Link to="/operation" className="text-link">
        View providers
      </Link>
    );
  if (kind === 'task')
    return (
      <Link to="/tasks/$id" params={{ id: target }} className="text-link">
        Open task
      </Link>
    );
  if (kind === 'key')
    return (
      <Link to="/tasks" search={{ key: target }} className="text-link">
        View tasks
      </Link>
    );
  if (kind === 'whe')
    return (
      <Link to="/webhooks" search={{ endpoint: target }} className="text-link">
        View deliveries
      </Link>
    );
  return null;
}

function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).join(', ');
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, part]) => `${name.replaceAll('_', ' ')}: ${part === null ? 'none' : wordsOf(part)}`)
    .join(', ');
}
