import { Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { queryClient } from '../../api/queries.ts';
import { send } from '../../api/request.ts';
import type { Endpoint } from '../../api/webhooks.ts';
import { Confirm } from '../../parts/confirm.tsx';

/** The open dialog. */
export type EndpointDialog = { kind: 'add' } | { kind: 'events' | 'remove'; endpoint: Endpoint };

/** Refreshes endpoints and deliveries. */
export async function refreshWebhooks(): Promise<void> {
  await queryClient.invalidateQueries({ queryKey: ['webhooks'] });
}

function showFailure(title: string) {
  return (error: Error) => {
    notifications.show({ color: 'red', title, message: error.message });
  };
}

/** Sends a test event; its delivery then appears in the list. */
export function useEndpointTest({ id }: Endpoint) {
  return useMutation({
    mutationFn: () => send('POST', `/webhooks/endpoints/${id}/test`),
    onSuccess: async () => {
      await refreshWebhooks();
      notifications.show({ color: 'green', message: 'Test event sent. See its delivery below.' });
    },
    onError: showFailure('Could not send the test event'),
  });
}

/** Disables or enables an endpoint. */
export function useEndpointSwitch({ id, disabled_at: disabledAt }: Endpoint) {
  const active = disabledAt !== null;
  return useMutation({
    mutationFn: () => send('PATCH', `/webhooks/endpoints/${id}`, { active }),
    onSuccess: async () => {
      await refreshWebhooks();
      notifications.show({ color: 'green', message: `Endpoint ${active ? 'enabled' : 'disabled'}.` });
    },
    onError: showFailure('Could not change the endpoint'),
  });
}

export function RemoveEndpoint({ endpoint, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const remove = useMutation({
    mutationFn: () => send('DELETE', `/webhooks/endpoints/${endpoint.id}`),
    onSuccess: async () => {
      await refreshWebhooks();
      notifications.show({ color: 'green', message: 'Endpoint removed.' });
      onClose();
    },
  });
  return (
    <Confirm
      opened
      title="Remove this endpoint?"
      action="Remove endpoint"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
    >
      <Text span inherit fw={600} style={{ overflowWrap: 'anywhere' }}>
        {endpoint.url}
      </Text>{' '}
      gets no more events, and its pending deliveries are dropped. Past deliveries stay in the log.
    </Confirm>
  );
}
