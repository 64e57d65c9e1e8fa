CREATE TABLE intents (
      sequence INTEGER PRIMARY KEY AUTOINCREMENT,
      service TEXT NOT NULL,
      key TEXT NOT NULL,
      subject TEXT NOT NULL,
      payload TEXT NOT NULL,
      state TEXT NOT NULL CHECK (state IN ('accepted', 'submitted', 'committed', 'failed')),
      tx_hash TEXT,
      transaction_text TEXT,
      receipt TEXT,
      failure_code TEXT,
      failure_message TEXT,
      expires_at_ms INTEGER NOT NULL,
      created_at_ms INTEGER NOT NULL,
      updated_at_ms INTEGER NOT NULL, reserved INTEGER NOT NULL DEFAULT 0,
      UNIQUE (service, key)
    ) STRICT;
CREATE INDEX intents_by_subject ON intents (service, subject, sequence);
CREATE INDEX intents_unfinished ON intents (service, sequence)
      WHERE state IN ('accepted', 'submitted');
CREATE INDEX intents_reserved ON intents (service, sequence, key) WHERE reserved = 1;
CREATE TABLE reservation_locks (service TEXT PRIMARY KEY);
CREATE TABLE services (service TEXT PRIMARY KEY, genesis TEXT, checks BIGINT NOT NULL DEFAULT 0);
CREATE INDEX intents_finished ON intents (service, expires_at_ms)
    WHERE state IN ('committed', 'failed') AND reserved = 0;
CREATE TABLE saved_values (service TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
    saved_at_ms BIGINT NOT NULL, PRIMARY KEY (service, name));
INSERT INTO intents VALUES (1, 'bridge', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A:1', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A', '{"user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","nonce":"1","deadline":4102444800000,"signature":"0x1c6f77c7d6e9100c379e216216a928b723dd6b076624b46cf5bdddf477e76f3d0059da164bafdd42101926c6bbb413bb04db69370aaa45a92d8edf22932adf9b1b","externalTxHash":"0x35780aaec19fe9c4452d007bfb1c347296e11c4025b9805a03323ab06fdee3e3"}', 'committed', '0x629a34f53d5b4703a0bacb11913cbeb4e2f2f3bb3015d9be45829de81f060948', '{"type":"Deposit","timestamp":1795418905952,"from":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","externalTxHash":"0x35780aaec19fe9c4452d007bfb1c347296e11c4025b9805a03323ab06fdee3e3","signature":"0x57cf7adef16e16eeea9fefda00db2754e8b046167150666701e9ac34fee1d9fc032c32e8f5ef8577fc5dcdeda24064c702fbc4c7d1dde56066e1a0c0af009c041c"}', '{"txHash":"0x629a34f53d5b4703a0bacb11913cbeb4e2f2f3bb3015d9be45829de81f060948","status":"committed","blockNumber":1}', null, null, 4102444800000, 1795418905953, 1795418905970, 0);
INSERT INTO intents VALUES (2, 'bridge', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A:2', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A', '{"user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","nonce":"2","deadline":4102444800000,"signature":"0x63bd1197b4be6dcd15967c925375b5deab3fd7f0ce9e149a0923926f1c38303a5420b190f5bb3b7d028a6cc8b0484243070e3049970c32169d31f6a4ce83a92e1b","externalTxHash":"0x25dc57377fa5b6ea51bc87f168856485a1f84223c94297e6086f91d0fb5b269d"}', 'committed', '0x889e00d4b5b450e2077d11e6b67e2049aeb2238bedcb421e877769af33453644', '{"type":"Deposit","timestamp":1795418905984,"from":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","externalTxHash":"0x25dc57377fa5b6ea51bc87f168856485a1f84223c94297e6086f91d0fb5b269d","signature":"0x3737426d042a73ebfc61775851b6cff8b454920b29eafbf2ef99c980c0cb86f72d1bf7d85eec1ad229bfe9a06a21bd91db189e01601ab2f80c13e29cb7b5fba81b"}', '{"txHash":"0x889e00d4b5b450e2077d11e6b67e2049aeb2238bedcb421e877769af33453644","status":"committed","blockNumber":2}', null, null, 4102444800000, 1795418905985, 1795418905986, 0);
INSERT INTO intents VALUES (3, 'bridge', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A:3', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A', '{"user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","nonce":"3","deadline":4102444800000,"signature":"0x05fee6969379faa7a2fcacf96bbb9ed7846eb7d7b816ca04e6fa50203ab30dab6ea35b5b32000a1d89d8a6a0909bea8f263483da18b75cd3cfb01293977337c71b","externalTxHash":"0xe7fc18c8d8265da555b967e436d958fe550a6d4475c378667b2504dacf8af8bf"}', 'failed', '0xcbc5ad4288c0999f01686a048994ebb10a4070bb894bced0c6cfa4a8be3bac22', '{"type":"Deposit","timestamp":1795418905988,"from":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","externalTxHash":"0xe7fc18c8d8265da555b967e436d958fe550a6d4475c378667b2504dacf8af8bf","signature":"0x19f0d384fc404e315c0535479d44cb607ee7ff5023a5c775eede9222781bf26e59cf3dfa6077212b30c3ff8e6036fa96ac938d74f2bdf759a49ad3b453b938361c"}', '{"txHash":"0xcbc5ad4288c0999f01686a048994ebb10a4070bb894bced0c6cfa4a8be3bac22","status":"failed","blockNumber":3,"error":{"code":"PERMISSION_DENIED","message":"Refused by the test: do as it says"}}', 'PERMISSION_DENIED', 'Refused by the test: do as it says', 4102444800000, 1795418905989, 1795418905996, 0);
INSERT INTO intents VALUES (4, 'bridge', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A:4', '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A', '{"user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","nonce":"4","deadline":4102444800000,"signature":"0x03269a97775dc80d3511535066b1fdf08d8e77f9fd6ff96277215860320a998a4a3a46e7b69316bd0c3110ec4e38f15508b47f4b18052cd3b02941c057edcd521c","externalTxHash":"0x3a52684b607a254de82da9d4554e436e268ffd2911f0a4d106f641c055a9686e"}', 'submitted', '0xcedc728622cc2333303809610fcbf72a08d7bdf6273db848e10165e9b4a896c2', '{"type":"Deposit","timestamp":1795418906002,"from":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8","user":"0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A","amount":"25000000","externalTxHash":"0x3a52684b607a254de82da9d4554e436e268ffd2911f0a4d106f641c055a9686e","signature":"0xa330a9baf4f40271bc2e9a97c0fc34a2311f86a380cb25b479dea0fcb72ecb1d0745e61123f7c87d9a3653758b151e1821738c2becacba2c070478ca0abb03551b"}', null, null, null, 4102444800000, 1795418906003, 1795418906014, 0);
INSERT INTO services VALUES ('bridge', '0x6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e6e', 2);
PRAGMA user_version = 4;
