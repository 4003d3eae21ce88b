import { useQuery } from '@tanstack/react-query';
import { alertChannelsQuery, alertRulesQuery } from '../../api/alerts.ts';
import { PageFrame } from '../../parts/page.tsx';
import { AlertChannels } from './alert-channels.tsx';
import { AlertHistory } from './alert-history.tsx';
import { AlertRules } from './alert-rules.tsx';
import { FiringAlerts } from './firing-alerts.tsx';

/** Firing alerts, rules, channels and history. */
export function AlertsPage() {
  const rules = useQuery(alertRulesQuery);
  const channels = useQuery(alertChannelsQuery);
  return (
    <PageFrame title="Alerts" about="Get a message when something needs attention, and another when it is resolved.">
      <FiringAlerts anyOn={rules.data?.data.some(({ enabled }) => enabled) ?? true} />
      <AlertRules query={rules} channels={channels.data?.data ?? []} />
      <AlertChannels query={channels} />
      <AlertHistory />
    </PageFrame>
  );
}
