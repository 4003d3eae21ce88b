import { Checkbox, NumberInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ALERT_VIEWS, type AlertChannel, type AlertRule, type AlertRuleChange } from '../../api/alerts.ts';
import { send } from '../../api/request.ts';
import { ALERT_NAMES, CHANNEL_NAMES } from '../../parts/alert-words.ts';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useSave } from '../../parts/use-save.ts';

interface RuleFormProps {
  readonly rule: AlertRule;
  readonly channels: readonly AlertChannel[];
  readonly onClose: () => void;
}

const NUMBERS = /^\s*\d{1,6}(\s*,\s*\d{1,6}){0,4}\s*$/;

/** The thresholds of a rule, and its channels. */
export function AlertRuleForm({ rule, channels, onClose }: RuleFormProps) {
  const { kind, unit } = rule;
  const form = useForm({
    initialValues: {
      thresholds: rule.thresholds.join(', '),
      window_minutes: rule.window_minutes,
      min_tasks: rule.min_tasks,
      hold_minutes: rule.hold_minutes,
      repeat_hours: rule.repeat_hours,
      channels: [...rule.channels],
    },
    validate: {
      thresholds: (text) => (NUMBERS.test(text) ? null : 'Enter up to five whole numbers, separated by commas'),
    },
  });
  const save = useSave({
    send: ({ thresholds, ...fields }: typeof form.values) => {
      const change: AlertRuleChange = { ...fields, thresholds: thresholds.split(',').map(Number) };
      return send('PUT', `/alerts/rules/${kind}`, change);
    },
    stale: ALERT_VIEWS,
    done: 'Alert updated.',
    after: onClose,
  });
  const number = (
    field: 'window_minutes' | 'min_tasks' | 'hold_minutes' | 'repeat_hours',
    min: number,
    max: number,
  ) => ({
    min,
    max,
    required: true,
    allowDecimal: false,
    allowNegative: false,
    ...form.getInputProps(field),
  });
  const ofFailures = kind === 'failure_rate' || kind === 'overall_failure_rate';
  return (
    <FormDialog
      title={`Edit alert: ${ALERT_NAMES[kind]}`}
      action="Save"
      save={save}
      doing="Could not save the alert"
      onSubmit={form.onSubmit((fields) => save.mutate(fields))}
      onClose={onClose}
    >
      {unit !== null && (
        <TextInput
          label={unit === 'percent' ? 'Thresholds (%)' : 'Thresholds (seconds)'}
          description="Separated by commas; each one sends its own alert"
          required
          data-autofocus
          {...form.getInputProps('thresholds')}
        />
      )}
      {ofFailures && (
        <>
          <NumberInput label="Window (minutes)" {...number('window_minutes', 5, 60)} />
          <NumberInput
            label="Minimum tasks"
            description="No alert if fewer tasks finished in the window"
            {...number('min_tasks', 1, 1_000_000)}
          />
        </>
      )}
      <NumberInput
        label="Alert after (minutes)"
        description="How long the problem must last; 0 = immediately"
        {...number('hold_minutes', 0, 1_440)}
      />
      <NumberInput
        label="Repeat every (hours)"
        description="While the alert is firing; 0 = never"
        {...number('repeat_hours', 0, 720)}
      />
      {channels.length > 0 && (
        <Checkbox.Group label="Send to" description="None selected = all channels" {...form.getInputProps('channels')}>
          <Stack gap="xs" mt="xs">
            {channels.map((channel) => (
              <Checkbox
                key={channel.id}
                value={channel.id}
                label={`${CHANNEL_NAMES[channel.kind]}: ${channel.address}`}
                style={{ overflowWrap: 'anywhere' }}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      )}
    </FormDialog>
  );
}
