import { Box, Button, Code, Table, Text } from '@mantine/core';
import { IconPlus, IconStack2 } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { batchesQuery, type BatchRow } from '../../api/batches.ts';
import { useMay } from '../../api/queries.ts';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { When } from '../../parts/when.tsx';
import { BatchProgress, BatchState, costOf } from './batch-state.tsx';
import { StartBatch } from './start-batch.tsx';

/** Files of many requests, newest first. */
export function BatchesPage() {
  const mayStart = useMay()('tasks.create');
  const query = useInfiniteQuery(batchesQuery);
  const { data, error, isPending, refetch } = query;
  const [isStarting, setStarting] = useState(false);
  const batches = data?.pages.flatMap((page) => page.data) ?? [];
  const start = mayStart ? (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setStarting(true)}>
      Start batch
    </Button>
  ) : undefined;
  return (
    <PageFrame
      title="Batches"
      about="Many requests in one file. They run behind all other requests of the account, within 24 hours. Updates automatically."
      actions={batches.length > 0 ? start : undefined}
    >
      {error !== null && <Trouble error={error} doing="Could not load batches" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface" component="section" aria-label="Batches">
          {isPending && <Rows count={4} />}
          {!isPending && batches.length === 0 && (
            <Empty icon={<IconStack2 size={36} />} title="No batches yet" action={start}>
              A batch runs each line of a file as a request. Upload a file here, or with <Code>POST /v1/files</Code> and{' '}
              <Code>POST /v1/batches</Code>.
            </Empty>
          )}
          {batches.length > 0 && <BatchTable batches={batches} />}
        </Box>
      )}
      <ShowMore of={query} />
      {isStarting && <StartBatch onClose={() => setStarting(false)} />}
    </PageFrame>
  );
}

function BatchTable({ batches }: { readonly batches: readonly BatchRow[] }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '110px' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>File</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th>Requests</Table.Th>
            <Table.Th>Cost</Table.Th>
            <Table.Th>Started</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {batches.map((batch) => (
            <Table.Tr key={batch.id}>
              <Table.Td maw={360}>
                <Link to="/batches/$id" params={{ id: batch.id }} className="text-link">
                  <Text size="sm" inherit style={{ overflowWrap: 'anywhere' }}>
                    {batch.file_name ?? batch.id}
                  </Text>
                </Link>
                <Text size="xs" c="dimmed">
                  {requestsOf(batch)}
                </Text>
              </Table.Td>
              <Table.Td data-name="Status">
                <BatchState batch={batch} />
              </Table.Td>
              <Table.Td data-name="Requests">
                <BatchProgress batch={batch} />
              </Table.Td>
              <Table.Td data-name="Cost" className="numbers">
                {costOf(batch)}
              </Table.Td>
              <Table.Td data-name="Started">
                <When time={batch.created_at} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function requestsOf({ endpoint }: BatchRow): string {
  if (endpoint === '/v1/images/edits') return 'Edits';
  return endpoint === '/v1/images/generations' ? 'Generations' : 'Chats';
}
