import { Box, Breadcrumbs, Button, Code, Group, SimpleGrid, Skeleton, Stack, Table, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconDownload } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import {
  BATCH_VIEWS,
  batchFileAddress,
  batchQuery,
  cancelBatch,
  type BatchDetail,
  type BatchFile,
} from '../../api/batches.ts';
import { useMay } from '../../api/queries.ts';
import { RequestError } from '../../api/request.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { NotFoundPage, PageFrame, Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { useSave } from '../../parts/use-save.ts';
import { When } from '../../parts/when.tsx';
import { BatchProgress, BatchState, costOf } from './batch-state.tsx';

const route = getRouteApi('/inside/batches/$id');
const FILES: Readonly<Record<BatchFile, string>> = { output: 'Results', errors: 'Errors', input: 'Requests' };

/** A batch: how far it is, what failed in it, and its files. */
export function BatchPage() {
  const { id } = route.useParams();
  const mayCancel = useMay()('tasks.create');
  const { data: batch, error, refetch } = useQuery(batchQuery(id));
  if (error instanceof RequestError && error.status === 404) return <NotFound />;
  const name = batch?.file_name ?? 'Batch';
  const isRunning = batch !== undefined && ['validating', 'in_progress'].includes(batch.status);
  return (
    <PageFrame
      title={name}
      named
      trail={<Trail name={name} />}
      about={<Code>{id}</Code>}
      actions={mayCancel && isRunning ? <CancelBatch id={id} /> : undefined}
    >
      {error !== null && <Trouble error={error} doing="Could not load the batch" onRetry={() => void refetch()} />}
      {batch === undefined ? (
        error === null && <Skeleton height={240} radius="lg" />
      ) : (
        <>
          <Facts batch={batch} />
          <Files batch={batch} />
          <Problems batch={batch} />
          <FailedLines batch={batch} />
        </>
      )}
    </PageFrame>
  );
}

function NotFound() {
  return (
    <NotFoundPage
      title="Batch"
      trail={<Trail name="Batch" />}
      heading="Batch not found"
      action={
        <Button component={Link} to="/batches" variant="default">
          View all batches
        </Button>
      }
    >
      It may belong to someone else, or it ended more than 30 days ago.
    </NotFoundPage>
  );
}

function Trail({ name }: { readonly name: string }) {
  return (
    <Breadcrumbs component="nav" aria-label="Breadcrumb" mb={4} style={{ flexWrap: 'nowrap' }}>
      <Link to="/batches" className="text-link">
        Batches
      </Link>
      <Text size="sm" c="dimmed" truncate aria-current="page">
        {name}
      </Text>
    </Breadcrumbs>
  );
}

function Facts({ batch }: { readonly batch: BatchDetail }) {
  return (
    <Box className="surface" p="md" component="section" aria-label="Progress">
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <Fact name="Status">
          <BatchState batch={batch} />
        </Fact>
        <Fact name="Requests">
          <BatchProgress batch={batch} />
        </Fact>
        <Fact name="Cost">
          <span className="numbers">{costOf(batch)}</span>
        </Fact>
        <Fact name={batch.ended_at === null ? 'Expires' : 'Ended'}>
          <When time={batch.ended_at ?? batch.expires_at} />
        </Fact>
      </SimpleGrid>
    </Box>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <Stack gap={4}>
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Box fz="sm">{children}</Box>
    </Stack>
  );
}

function Files({ batch: { id, files } }: { readonly batch: BatchDetail }) {
  const names = (Object.keys(FILES) as BatchFile[]).filter((name) => files.includes(name));
  if (names.length === 0) return null;
  return (
    <Stack gap="md" component="section" aria-label="Files">
      <SectionTitle about="The results contain the images as base64, unless their requests ask for links.">
        Files
      </SectionTitle>
      <Group gap="xs">
        {names.map((name) => (
          <Button
            key={name}
            component="a"
            href={batchFileAddress(id, name)}
            download
            variant="default"
            leftSection={<IconDownload size={16} />}
          >
            {FILES[name]}
          </Button>
        ))}
      </Group>
    </Stack>
  );
}

/** Why nothing of the file was run. */
function Problems({ batch: { problems } }: { readonly batch: BatchDetail }) {
  if (problems.length === 0) return null;
  return (
    <Listed
      title="Problems of the file"
      about="Nothing was generated. Correct the file and start another batch."
      rows={problems.map(({ line, code, message }) => [line === null ? 'File' : `Line ${line}`, code, message])}
    />
  );
}

function FailedLines({ batch: { failed, failed_lines: lines } }: { readonly batch: BatchDetail }) {
  if (lines.length === 0) return null;
  const rest = `The first ${lines.length} of ${failed.toLocaleString('en')}. All are in the file of errors once the batch has ended.`;
  return (
    <Listed
      title="Failed requests"
      about={failed > lines.length ? rest : undefined}
      rows={lines.map(({ custom_id: customId, code, message }) => [customId, code, message])}
    />
  );
}

interface ListedProps {
  readonly title: string;
  readonly about: ReactNode;
  readonly rows: readonly (readonly [where: string, code: string, message: string])[];
}

function Listed({ title, about, rows }: ListedProps) {
  return (
    <Stack gap="md" component="section" aria-label={title}>
      <SectionTitle about={about}>{title}</SectionTitle>
      <Box className="surface">
        <Table horizontalSpacing="md">
          <Table.Tbody>
            {rows.map(([where, code, message], index) => (
              <Table.Tr key={index}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  <Text size="sm" fw={600} component="span">
                    {where}
                  </Text>{' '}
                  <Code>{code}</Code>
                  <Text size="sm">{message}</Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Box>
    </Stack>
  );
}

function CancelBatch({ id }: { readonly id: string }) {
  const [asking, ask] = useDisclosure(false);
  const cancel = useSave({
    send: () => cancelBatch(id),
    stale: BATCH_VIEWS,
    done: 'The batch is being canceled.',
    after: ask.close,
  });
  return (
    <>
      <Button variant="default" onClick={ask.open}>
        Cancel batch
      </Button>
      <Confirm
        opened={asking}
        title="Cancel this batch?"
        action="Cancel batch"
        keep="Keep batch"
        save={cancel}
        onClose={ask.close}
      >
        Requests that wait never start. If a provider has already started one, you may still be charged. What is done
        stays in the files.
      </Confirm>
    </>
  );
}
