import { Box, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { IconArrowBackUp } from '@tabler/icons-react';
import { useState } from 'react';
import { CATALOG_VIEWS, revisionsQuery } from '../../api/catalog.ts';
import { send } from '../../api/request.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { fromNow, fullTime } from '../../parts/format.ts';
import { Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { useSave } from '../../parts/use-save.ts';

const SHOWN = 10;

/** Earlier changes, with a way to restore them. */
export function History({ revision }: { readonly revision: number }) {
  const { data, error, refetch } = useQuery(revisionsQuery);
  const [all, setAll] = useState(false);
  const [restoring, setRestoring] = useState<{ revision: number; isUndo: boolean } | null>(null);
  if (revision === 0) return null;
  const rows = data?.data ?? [];
  const undo = rows[1]?.revision ?? 0;
  return (
    <Box component="section" aria-label="History">
      <SectionTitle
        about="The last 100 changes made here. You can restore any version."
        actions={
          rows.length > 0 && (
            <Button
              variant="default"
              leftSection={<IconArrowBackUp size={16} />}
              onClick={() => setRestoring({ revision: undo, isUndo: true })}
            >
              Undo last change
            </Button>
          )
        }
      >
        History
      </SectionTitle>
      {error !== null && <Trouble error={error} doing="Could not load the history" onRetry={() => void refetch()} />}
      <Box className="surface" mt="sm">
        {rows.slice(0, all ? rows.length : SHOWN).map((row, index) => (
          <Group key={row.revision} className="list-row" px="md" py="xs" justify="space-between" gap="xs" miw={0}>
            {/* On a phone, on separate lines. */}
            <Text size="sm" flex={{ base: '1 1 100%', xs: 1 }} miw={0} style={{ overflowWrap: 'anywhere' }}>
              <Text span inherit fw={600}>
                {row.author}
              </Text>{' '}
              {row.sentence}{' '}
              <Text span inherit c="dimmed">
                · version {row.revision}
              </Text>
            </Text>
            <Text size="sm" c="dimmed" className="nowrap" title={fullTime(row.created_at)}>
              {fromNow(row.created_at)}
            </Text>
            {index === 0 ? (
              <Text size="sm" c="dimmed" w={86} ta="center">
                Current
              </Text>
            ) : (
              <Button
                variant="default"
                size="xs"
                w={86}
                aria-label={`Restore version ${row.revision}`}
                onClick={() => setRestoring({ revision: row.revision, isUndo: false })}
              >
                Restore
              </Button>
            )}
          </Group>
        ))}
      </Box>
      {!all && rows.length > SHOWN && (
        <Button variant="subtle" size="xs" mt="xs" onClick={() => setAll(true)}>
          Show all {rows.length}
        </Button>
      )}
      {restoring !== null && <Restore current={revision} {...restoring} onClose={() => setRestoring(null)} />}
    </Box>
  );
}

interface RestoreProps {
  readonly current: number;
  readonly revision: number;
  readonly isUndo: boolean;
  readonly onClose: () => void;
}

function Restore({ current, revision, isUndo, onClose }: RestoreProps) {
  const restore = useSave({
    send: () => send('POST', `/catalog/revisions/${revision}/restore`, { revision: current }),
    stale: CATALOG_VIEWS,
    after: onClose,
  });
  return (
    <Confirm
      opened
      title={isUndo ? 'Undo the last change?' : `Restore version ${revision}?`}
      action={isUndo ? 'Undo' : 'Restore'}
      harmless
      save={restore}
      onClose={onClose}
    >
      {revision === 0
        ? 'This removes all providers and models that were added here.'
        : `Providers, keys, models, routes, and prices go back to version ${revision}.`}{' '}
      The current version stays in the history, so you can restore it later.
    </Confirm>
  );
}
