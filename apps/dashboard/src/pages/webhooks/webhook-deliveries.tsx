import { Box, Button, Group, Select, Stack, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { deliveriesQuery, type DeliveryFilters, type Endpoint } from '../../api/webhooks.ts';
import { IconSearch, IconWebhook } from '@tabler/icons-react';
import { Empty, Rows, Trouble } from '../../parts/page.tsx';
import { SectionTitle } from '../../parts/section-title.tsx';
import { ShowMore } from '../../parts/show-more.tsx';
import { DeliveryRow } from './webhook-delivery.tsx';

const route = getRouteApi('/inside/webhooks');

/** Deliveries, newest first, with filters in the URL. */
export function WebhookDeliveries({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  const filters = route.useSearch();
  const query = useInfiniteQuery(deliveriesQuery(filters));
  const { data, error, isPending, refetch } = query;
  const deliveries = data?.pages.flatMap((page) => page.data) ?? [];
  const filtered = Object.values(filters).some((value) => value !== undefined);
  return (
    <Stack component="section" gap="md" aria-label="Deliveries">
      <SectionTitle about="Newest first. Failed deliveries are retried with backoff.">Deliveries</SectionTitle>
      {(deliveries.length > 0 || filtered) && <Filters filters={filters} endpoints={endpoints} />}
      {error !== null && <Trouble error={error} doing="Could not load deliveries" onRetry={() => void refetch()} />}
      {error === null && (
        <Box className="surface">
          {isPending && <Rows />}
          {!isPending && deliveries.length === 0 && (filtered ? <NothingFound /> : <NothingSent />)}
          {deliveries.map((delivery) => (
            <DeliveryRow key={delivery.id} delivery={delivery} />
          ))}
        </Box>
      )}
      <ShowMore of={query} />
    </Stack>
  );
}

interface FiltersProps {
  readonly filters: DeliveryFilters;
  readonly endpoints: readonly Endpoint[];
}

function Filters({ filters, endpoints }: FiltersProps) {
  const navigate = useNavigate();
  const change = (changes: DeliveryFilters) => {
    void navigate({ to: '/webhooks', search: { ...filters, ...changes }, replace: true, resetScroll: false });
  };
  const search = useDebouncedCallback((task: string) => change({ task: task === '' ? undefined : task }), 300);
  return (
    <Group gap="sm">
      <Select
        aria-label="Status"
        placeholder="Any status"
        clearable
        flex={{ base: '1 1 130px', sm: '0 0 150px' }}
        data={[
          { value: 'pending', label: 'Pending' },
          { value: 'delivered', label: 'Delivered' },
          { value: 'failed', label: 'Failed' },
        ]}
        value={filters.status ?? null}
        onChange={(status) => change({ status: status ?? undefined })}
      />
      <Select
        aria-label="Endpoint"
        placeholder="Any endpoint"
        clearable
        searchable
        flex={1}
        miw={180}
        maw={{ sm: 360 }}
        data={endpoints.map(({ id, url }) => ({ value: id, label: url }))}
        value={filters.endpoint ?? null}
        onChange={(endpoint) => change({ endpoint: endpoint ?? undefined })}
      />
      <TextInput
        aria-label="Task"
        placeholder="Task ID"
        leftSection={<IconSearch size={16} />}
        defaultValue={filters.task ?? ''}
        key={filters.task === undefined ? 'none' : 'some'}
        flex={1}
        miw={180}
        maw={{ sm: 340 }}
        onChange={(event) => search(event.currentTarget.value.trim())}
      />
    </Group>
  );
}

function NothingSent() {
  return (
    <Empty icon={<IconWebhook size={36} />} title="No deliveries yet">
      When an asynchronous task ends, Darkroom sends an event to the endpoints above and to the request’s callback_url.
      Each delivery appears here with every attempt.
    </Empty>
  );
}

function NothingFound() {
  return (
    <Empty
      icon={<IconSearch size={36} />}
      title="No matching deliveries"
      action={
        <Button component={Link} to="/webhooks" variant="default">
          Clear filters
        </Button>
      }
    >
      Deliveries are kept as long as their tasks.
    </Empty>
  );
}
