#!/bin/sh
# System packages that tests need. Without the rights to install them, the tests concerned are skipped and say why.
missing=""
{ command -v chromium-headless-shell || command -v chromium; } >/dev/null 2>&1 || missing="$missing chromium-headless-shell"
command -v bwrap >/dev/null 2>&1 || missing="$missing bubblewrap"
python3 -c 'import ctypes; ctypes.CDLL("libseccomp.so.2")' 2>/dev/null || missing="$missing libseccomp2"
command -v cc >/dev/null 2>&1 || missing="$missing gcc libc6-dev"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  printf 'installing%s ... ' "$missing"
  start=$(date +%s)
  if output=$({ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing; } 2>&1); then
    echo "$(($(date +%s) - start)) s"
  else
    printf 'failed\n%s\n' "$output"
    exit 1
  fi
else
  echo "not installed:$missing. Tests that need it will be skipped."
fi
