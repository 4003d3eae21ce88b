import { Text } from '@mantine/core';
import { send } from '../../api/request.ts';
import { WEBHOOK_VIEWS, type Endpoint, type Resent } from '../../api/webhooks.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { useSave } from '../../parts/use-save.ts';

/** The open dialog. */
export type EndpointDialog = { kind: 'add' } | { kind: 'events' | 'remove' | 'resend'; endpoint: Endpoint };

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

/** Batches that one confirmation sends. */
const MAX_BATCHES = 50;

/** Sends everything again that the endpoint has not taken, batch by batch. */
export function ResendFailed({ endpoint, onClose }: { readonly endpoint: Endpoint; readonly onClose: () => void }) {
  const resend = useSave({
    send: async () => {
      let count = 0;
      let after: string | null = null;
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        const body: object = after === null ? {} : { after };
        const sent: Resent = await send<Resent>('POST', `/webhooks/endpoints/${endpoint.id}/resend-failed`, body);
        count += sent.resent;
        after = sent.next;
        if (after === null) break;
      }
      return { count, hasMore: after !== null };
    },
    stale: WEBHOOK_VIEWS,
    done: ({ count, hasMore }) =>
      `Resending ${count.toLocaleString('en')} ${count === 1 ? 'delivery' : 'deliveries'}.${hasMore ? ' More have failed: resend again for the rest.' : ''}`,
    after: onClose,
  });
  return (
    <Confirm opened harmless title="Resend all failed deliveries?" action="Resend all" save={resend} onClose={onClose}>
      Sends every stored delivery to{' '}
      <Text span inherit fw={600} style={{ overflowWrap: 'anywhere' }}>
        {endpoint.url}
      </Text>{' '}
      again that has failed or waits for another try, each with the same webhook-id. Deliveries that arrived are not
      sent again.
    </Confirm>
  );
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
