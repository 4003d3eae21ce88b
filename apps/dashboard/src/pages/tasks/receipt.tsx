import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { IconDownload } from '@tabler/icons-react';
import type { Schema } from '../../api/generated/schema.ts';
import { get } from '../../api/request.ts';

/** An erasure takes a second; of a task whose worker died, half a minute. */
const REFRESH_MS = 3_000;

/** The signed proof that a deleted task is gone, to download. */
export function Receipt({ id }: { readonly id: string }) {
  const { data } = useQuery({
    queryKey: ['receipt', id],
    queryFn: ({ signal }) => get<Schema['TaskReceiptView']>(`/tasks/${id}/receipt`, {}, signal),
    refetchInterval: ({ state }) => (state.data?.receipt === null ? REFRESH_MS : false),
  });
  if (data === undefined) return null;
  if (data.receipt === null)
    return (
      <Text size="sm" c="dimmed" mt="sm" role="status">
        Its images are being erased.
      </Text>
    );
  return (
    <Button
      component="a"
      mt="sm"
      size="xs"
      variant="default"
      leftSection={<IconDownload size={16} />}
      href={`data:application/json;charset=utf-8,${encodeURIComponent(JSON.stringify(data.receipt, undefined, 2))}`}
      download={`receipt-${id}.json`}
    >
      Download receipt
    </Button>
  );
}
