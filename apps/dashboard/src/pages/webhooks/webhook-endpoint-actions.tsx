import { Text } from '@mantine/core';
import { send } from '../../api/request.ts';
import { WEBHOOK_VIEWS, type Endpoint } from '../../api/webhooks.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { useSave } from '../../parts/use-save.ts';

/** The open dialog. */
export type EndpointDialog = { kind: 'add' } | { kind: 'events' | 'remove'; endpoint: Endpoint };

/** Sends a test event; its delivery then appears in the list. */
export function useEndpointTest({ id }: Endpoint) {
  return useSave({
    send: () => send('POST', `/webhooks/endpoints/${id}/test`),
    stale: WEBHOOK_VIEWS,
    done: 'Test event sent. See its delivery below.',
    failed: 'Could not send the test event',
  });
}

/** Disables or enables an endpoint. */
export function useEndpointSwitch({ id, disabled_at: disabledAt }: Endpoint) {
  const active = disabledAt !== null;
  return useSave({
    send: () => send('PATCH', `/webhooks/endpoints/${id}`, { active }),
    stale: WEBHOOK_VIEWS,
    done: `Endpoint ${active ? 'enabled' : 'disabled'}.`,
    failed: 'Could not change the endpoint',
  });
}

export function RemoveEndpoint({ endpoint, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const remove = useSave({
    send: () => send('DELETE', `/webhooks/endpoints/${endpoint.id}`),
    stale: WEBHOOK_VIEWS,
    done: 'Endpoint removed.',
    after: onClose,
  });
  return (
    <Confirm opened title="Remove this endpoint?" action="Remove endpoint" save={remove} onClose={onClose}>
      <Text span inherit fw={600} style={{ overflowWrap: 'anywhere' }}>
        {endpoint.url}
      </Text>{' '}
      gets no more events, and its pending deliveries are dropped. Past deliveries stay in the log.
    </Confirm>
  );
}
