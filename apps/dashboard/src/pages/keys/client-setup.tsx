import { Group, Select, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { clientRecipe, RECIPE_NAMES } from '#contract/client-recipes.js';
import { serviceUrl } from '../../api/place.ts';
import { CodeBlock, CopyIconButton } from '../../parts/copy.tsx';

/** Settings for common clients, filled in with a new key. */
export function ClientSetup({ secret, model }: { readonly secret: string; readonly model: string }) {
  const [name, setName] = useState<string | null>(null);
  const recipe = name === null ? undefined : clientRecipe(name, { address: serviceUrl(), key: secret, model });
  return (
    <>
      <Select
        label="Set up a client"
        placeholder="Choose a client"
        data={RECIPE_NAMES.map(([value, label]) => ({ value, label }))}
        value={name}
        onChange={setName}
      />
      {recipe !== undefined && (
        <div>
          <Text size="sm" mb="xs">
            Enter in {recipe.client} ({recipe.where}):
          </Text>
          {recipe.env === true ? (
            <CodeBlock
              code={recipe.fields.map(([variable, value]) => `${variable}=${value}`).join('\n')}
              label={`${recipe.client} settings`}
            />
          ) : (
            <Table aria-label={`${recipe.client} settings`} withRowBorders={false} verticalSpacing={2}>
              <Table.Tbody>
                {recipe.fields.map(([label, value]) => (
                  <Table.Tr key={label}>
                    <Table.Th scope="row" fw={500}>
                      {label}
                    </Table.Th>
                    <Table.Td>
                      <Group gap="xs" wrap="nowrap" justify="space-between">
                        <Text span size="sm" style={{ overflowWrap: 'anywhere' }}>
                          {value}
                        </Text>
                        <CopyIconButton value={value} label={`Copy ${label}`} />
                      </Group>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          )}
        </div>
      )}
    </>
  );
}
