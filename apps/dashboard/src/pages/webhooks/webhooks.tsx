import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useMay } from '../../api/queries.ts';
import { endpointsQuery } from '../../api/webhooks.ts';
import { IconPlus } from '@tabler/icons-react';
import { PageFrame } from '../../parts/page.tsx';
import { WebhookDeliveries } from './webhook-deliveries.tsx';
import { RemoveEndpoint, ResendFailed, type EndpointDialog } from './webhook-endpoint-actions.tsx';
import { EndpointForm } from './webhook-endpoint-form.tsx';
import { WebhookEndpoints } from './webhook-endpoints.tsx';
import { WebhookVerification } from './webhook-verification.tsx';

/** Endpoints, verification and deliveries. */
export function WebhooksPage() {
  const isAdmin = useMay()('webhooks.manage');
  const endpoints = useQuery(endpointsQuery);
  const [dialog, setDialog] = useState<EndpointDialog | null>(null);
  const close = () => setDialog(null);
  const add = isAdmin ? (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setDialog({ kind: 'add' })}>
      Add endpoint
    </Button>
  ) : undefined;
  const known = endpoints.data?.data ?? [];
  return (
    <PageFrame
      title="Webhooks"
      about="Darkroom calls your app when an asynchronous task ends, so you don’t have to poll."
      actions={known.length > 0 ? add : undefined}
    >
      <WebhookEndpoints query={endpoints} isAdmin={isAdmin} add={add} onAct={setDialog} />
      <WebhookVerification isAdmin={isAdmin} />
      <WebhookDeliveries endpoints={known} />
      {dialog?.kind === 'add' && <EndpointForm onClose={close} />}
      {dialog?.kind === 'events' && <EndpointForm existing={dialog.endpoint} onClose={close} />}
      {dialog?.kind === 'resend' && <ResendFailed endpoint={dialog.endpoint} onClose={close} />}
      {dialog?.kind === 'remove' && <RemoveEndpoint endpoint={dialog.endpoint} onClose={close} />}
    </PageFrame>
  );
}
