import { Select } from '@mantine/core';

/** '' is the default. */
export type ResponseFormatChoice = '' | 'both' | 'url' | 'b64_json';

interface ResponseFormatFieldProps {
  /** What ties it to its field of the form. */
  readonly field: object;
  /** Whose default holds where nothing is chosen. */
  readonly usual: 'account' | 'installation';
}

/** How images are given to calls that do not say. */
export function ResponseFormatField({ field, usual }: ResponseFormatFieldProps) {
  return (
    <Select
      label="Response format"
      description="For requests that don’t specify one"
      allowDeselect={false}
      data={[
        { value: '', label: usual === 'account' ? 'Account default' : 'Installation default' },
        { value: 'both', label: 'Link and Base64' },
        { value: 'url', label: 'Link (url)' },
        { value: 'b64_json', label: 'Base64 (b64_json)' },
      ]}
      {...field}
    />
  );
}
