import { Select, Stack, TagsInput } from '@mantine/core';
import type { KeySettings } from '../../api/types.ts';

type Mode = KeySettings['end_users'];

const MODES: readonly { readonly value: Mode; readonly label: string; readonly about: string }[] = [
  {
    value: 'off',
    label: 'Pass through',
    about: 'Providers get the identifiers that clients send. Tasks and usage don’t record them.',
  },
  {
    value: 'forward',
    label: 'Record and forward',
    about: 'Identifiers are recorded, and providers get them as they are. Clients can send any identifier.',
  },
  {
    value: 'derive',
    label: 'Replace with a digest',
    about:
      'A digest that only this account can compute takes the place of each identifier. Requests without one count for the key.',
  },
  {
    value: 'require',
    label: 'Replace with a digest, and require one',
    about: 'The same, but requests that don’t identify their end user are rejected.',
  },
];
const MAX_TAGS = 8;

interface EndUserFieldsProps {
  readonly mode: Mode;
  /** Props that bind the two to their form fields. */
  readonly modeField: object;
  readonly tagsField: object;
}

/** What a key does with the identifiers of end users, and the tags of its requests. */
export function EndUserFields({ mode, modeField, tagsField }: EndUserFieldsProps) {
  return (
    <Stack gap="sm">
      <Select
        label="End users"
        description={MODES.find(({ value }) => value === mode)?.about}
        allowDeselect={false}
        data={MODES.map(({ value, label }) => ({ value, label }))}
        {...modeField}
      />
      <TagsInput
        label="Default tags"
        description="Added to the tags of each request; never sent to providers"
        maxTags={MAX_TAGS}
        maxLength={64}
        splitChars={[',']}
        {...tagsField}
      />
    </Stack>
  );
}
