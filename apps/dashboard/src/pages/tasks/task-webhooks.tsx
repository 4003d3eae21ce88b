import { Box } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { deliveriesQuery } from '../../api/webhooks.ts';
import { Rows, Trouble } from '../../parts/page.tsx';
import { DeliveryRow } from '../webhooks/webhook-delivery.tsx';

/** The webhook deliveries of a task, with attempts and payloads. */
export function TaskWebhooks({ id }: { readonly id: string }) {
  const { data, error, refetch } = useInfiniteQuery(deliveriesQuery({ task: id }));
  if (error !== null)
    return <Trouble error={error} doing="Could not load webhook deliveries" onRetry={() => void refetch()} />;
  if (data === undefined) return <Rows count={1} />;
  return (
    <Box mx="calc(var(--mantine-spacing-md) * -1)">
      {data.pages
        .flatMap((page) => page.data)
        .map((delivery) => (
          <DeliveryRow key={delivery.id} delivery={delivery} />
        ))}
    </Box>
  );
}
