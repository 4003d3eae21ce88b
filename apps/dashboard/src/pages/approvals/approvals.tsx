import { Box, Group, Stack, Table, Text } from '@mantine/core';
import { IconCheck } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { approvalsQuery, type Approval } from '../../api/approvals.ts';
import { Cost } from '../../parts/cost.tsx';
import { DecideTask } from '../../parts/decide-task.tsx';
import { money } from '../../parts/format.ts';
import { Empty, PageFrame, Rows, Trouble } from '../../parts/page.tsx';
import { TaskLink } from '../../parts/task-link.tsx';
import { When } from '../../parts/when.tsx';

/** Requests that wait until an owner or admin approves or rejects them. */
export function ApprovalsPage() {
  const { data, error, isPending, refetch } = useQuery(approvalsQuery);
  return (
    <PageFrame
      title="Approvals"
      about="Requests that may cost more than their key or account may spend without an approval. Nothing is generated before. Updates automatically."
    >
      {error !== null && <Trouble error={error} doing="Could not load approvals" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface" component="section" aria-label="Waiting for approval">
          {isPending && <Rows count={4} />}
          {data !== undefined && data.count > data.data.length && (
            <Text size="sm" className="numbers" px="md" pt="md">
              {data.count.toLocaleString('en')} requests wait. The oldest {data.data.length} are listed.
            </Text>
          )}
          {data?.data.length === 0 && (
            <Empty icon={<IconCheck size={36} />} title="No requests wait for approval">
              To require approvals, set a price for a key, or on the page Team for the account or a tag.
            </Empty>
          )}
          {data !== undefined && data.data.length > 0 && <ApprovalTable approvals={data.data} />}
        </Box>
      )}
    </PageFrame>
  );
}

function ApprovalTable({ approvals }: { readonly approvals: readonly Approval[] }) {
  return (
    <Table.ScrollContainer minWidth={300}>
      <Table horizontalSpacing="md" className="card-rows" __vars={{ '--card-cell': '110px' }}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Request</Table.Th>
            <Table.Th>Maximum price</Table.Th>
            <Table.Th>Requested by</Table.Th>
            <Table.Th>Waiting since</Table.Th>
            <Table.Th>Decision</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {approvals.map((approval) => (
            <ApprovalRow key={approval.task.id} approval={approval} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function ApprovalRow({ approval }: { readonly approval: Approval }) {
  const { task, approve_above: above, expires_at: end } = approval;
  const { currency } = task.cost ?? {};
  return (
    <Table.Tr>
      <Table.Td maw={460}>
        <Stack gap={4}>
          <TaskLink id={task.id}>
            <Text size="sm" lineClamp={2} inherit>
              {task.prompt}
            </Text>
          </TaskLink>
          <Text size="xs" c="dimmed">
            {task.model} · {task.action === 'edit' ? 'Edit' : 'Generation'}
          </Text>
          <References images={approval.reference_images} />
        </Stack>
      </Table.Td>
      <Table.Td data-name="Maximum price">
        <Text size="sm" component="div" className="numbers">
          <Cost cost={task.cost} />
        </Text>
        {currency !== undefined && (
          <Text size="xs" c="dimmed" className="numbers">
            Approval above {money({ amount: above, currency })}
          </Text>
        )}
      </Table.Td>
      <Table.Td data-name="Requested by" maw={220}>
        <Text size="sm" truncate>
          {task.ordered_by?.name ?? task.key.name}
        </Text>
        {task.ordered_by !== null && (
          <Text size="xs" c="dimmed" truncate>
            {task.key.name}
          </Text>
        )}
      </Table.Td>
      <Table.Td data-name="Waiting since">
        <When time={task.created_at} />
        <Text size="xs" c="dimmed" component="div">
          Expires <When time={end} />
        </Text>
      </Table.Td>
      <Table.Td data-name="Decision">
        <DecideTask task={task} />
      </Table.Td>
    </Table.Tr>
  );
}

/** Small reference images, each a link to the full one; those from a URL by their host. */
function References({ images }: { readonly images: Approval['reference_images'] }) {
  if (images.length === 0) return null;
  return (
    <Group gap={6}>
      {images.map(({ url, host }, index) =>
        url === null ? (
          <Text key={index} size="xs" c="dimmed">
            {host ?? 'Image deleted'}
          </Text>
        ) : (
          <a key={index} href={url} target="_blank" rel="noreferrer">
            <img src={url} alt={`Reference image ${index + 1}`} width={40} height={40} style={{ objectFit: 'cover' }} />
          </a>
        ),
      )}
    </Group>
  );
}
