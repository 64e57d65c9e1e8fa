#!/usr/bin/env bash
# A base image for containers where no registry can be reached: Deno with the libraries that it loads,
# and the users of the real images. PostgreSQL and Prometheus are mounted from this machine.
#
#   base_image.sh <folder for files> <Deno> <image>
set -euo pipefail
root=$1/root
bin=$(dirname "$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)")

mkdir -p "$root"/{etc,tmp,bin,usr/bin,prometheus,var/lib/postgresql/data}
chmod 1777 "$root/tmp"
printf '%s\n' root:x:0:0::/root:/bin/sh postgres:x:70:70::/:/bin/sh nobody:x:65534:65534::/:/bin/sh \
  nonroot:x:65532:65532::/:/bin/sh >"$root/etc/passwd"
printf '%s\n' root:x:0: postgres:x:70: nobody:x:65534: nonroot:x:65532: >"$root/etc/group"
libraries=$(ldd /bin/mkdir "$2" | grep -o '/[^ ]* (0x' | cut -d ' ' -f 1 | sort -u)
cp -L --parents /bin/mkdir $libraries "$root"
cp -L "$2" "$root/usr/bin/deno"
chown 70:70 "$root/var/lib/postgresql/data"
chown 65534:65534 "$root/prometheus"

# As the image of PostgreSQL: an empty volume gets a cluster and runs the scripts, by socket only.
cat >"$root/postgres" <<EOF
#!/bin/sh
set -eu
PATH=$bin:\$PATH
data=/var/lib/postgresql/data
if [ ! -s \$data/PG_VERSION ]; then
  printf %s "\$POSTGRES_PASSWORD" >/tmp/password
  initdb -D \$data -U "\$POSTGRES_USER" -A scram-sha-256 --pwfile=/tmp/password -E UTF8 --locale=C
  echo "host all all all scram-sha-256" >>\$data/pg_hba.conf
  pg_ctl -D \$data -o "-c listen_addresses= -c unix_socket_directories=/tmp" -w start
  for file in /docker-entrypoint-initdb.d/*.sql; do
    PGPASSWORD=\$POSTGRES_PASSWORD psql -h /tmp -U "\$POSTGRES_USER" -d postgres -v ON_ERROR_STOP=1 -f "\$file"
  done
  pg_ctl -D \$data -w stop
fi
exec postgres -D \$data -c "listen_addresses=*" -c unix_socket_directories=/var/run/postgresql
EOF
chmod 755 "$root/postgres"
tar -C "$root" -c . | podman import --quiet --change "ENV DENO_DIR=/deno-dir" - "$3"
rm -rf "$root"
